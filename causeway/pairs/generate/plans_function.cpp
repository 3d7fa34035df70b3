// Kernels with functions and structs of their own.
#include "causeway/pairs/generate/plans.h"

#include <algorithm>
#include <utility>

namespace causeway::pairs {

using lang::Scalar;

namespace {

constexpr double kArgument = 5;  // |argument| of a function stays below it

struct Function {
  std::string name;
  std::vector<ValueType> parameters;
  ValueType result;
  Range range;
  std::string phrase;
};

Expr invoke(Builder& b, const Function& function) {
  Expr expr{function.name + "(", Binds::atom, function.result, function.range, {}};
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    Expr argument =
        b.grammar.tame_to(b.grammar.make(function.parameters[i], b.dice.below(2)), kArgument);
    expr.text += (i > 0 ? ", " : "") + argument.text;
  }
  expr.text += ")";
  expr.phrase = function.phrase;
  return expr;
}

// Writes a function of one to three arguments before the kernel.
Function define(Builder& b, ValueType type, ValueType vector) {
  Function function;
  function.name = b.names.take({"helper", "weight_of", "falloff", "blend_values", "smooth",
                                "score_of", "response_of", "local_term"});
  const std::vector<Variable> outside = std::exchange(b.grammar.scope, {});
  const int count = b.dice.between(1, 3);
  std::string signature;
  for (int i = 0; i < count; ++i) {
    const ValueType parameter = vector.is_scalar() || b.dice.chance(0.6) ? type : vector;
    const std::string name =
        b.names.take({"p", "q", "lhs", "rhs", "arg", "value_in", "weight_in", "base"});
    function.parameters.push_back(parameter);
    signature += (i > 0 ? ", " : "") + name + ": " + annotation(parameter);
    b.grammar.scope.push_back({name, parameter, {-kArgument, kArgument}, {}});
  }
  if (!b.grammar.has(type)) {
    signature += ", bias_in: " + annotation(type);
    function.parameters.push_back(type);
    b.grammar.scope.push_back({"bias_in", type, {-kArgument, kArgument}, {}});
  }
  function.result = vector.is_scalar() || b.dice.chance(0.7) ? type : vector;
  std::string body;
  if (b.dice.chance(0.4)) {
    const Expr inner = b.grammar.make(type, b.depth());
    const std::string name = b.names.take({"inner_val", "mid", "part", "base_val"});
    body += "    " + name + " = " + inner.text + "\n";
    b.grammar.scope.push_back({name, type, inner.range, {}});
  }
  const Expr result = b.grammar.tame_to(b.grammar.make(function.result, b.depth()), 50);
  function.range = result.range;
  if (b.dice.chance(0.35)) {
    const Expr condition = b.grammar.condition(0);
    const Expr other = b.grammar.tame_to(b.grammar.make(function.result, 1), 50);
    body += "    if " + condition.text + ":\n        return " + other.text + "\n";
    function.range = hull(result.range, other.range);
  }
  body += "    return " + result.text + "\n";
  const std::string tail = b.dice.chance(0.5) ? " -> " + annotation(function.result) : "";
  b.preamble("@wp.func\ndef " + function.name + "(" + signature + ")" + tail + ":\n" + body +
             "\n\n");
  function.phrase = function.name + " of its arguments";
  b.grammar.scope = outside;
  return function;
}

Program with_functions(Builder& b) {
  const ValueType type = scalar_of(b.dice.chance(0.9) ? Scalar::f32 : Scalar::f64);
  const ValueType vector = b.dice.chance(0.4) ? vector_of(b.dice.between(2, 3), type.scalar) : type;
  std::vector<Function> functions;
  const int count = b.dice.between(1, 1 + b.level / 3);
  for (int i = 0; i < count; ++i) functions.push_back(define(b, type, vector));
  const Elements elements = begin_elements(b);
  element_inputs(b, elements, type, b.dice.between(1, 2));
  if (!vector.is_scalar()) element_inputs(b, elements, vector, 1);
  scalar_inputs(b, type, b.dice.below(2));
  for (const Function& function : functions) b.let(invoke(b, function));
  const ValueType types[] = {type};
  locals(b, types, b.statements() / 2);
  const Expr value = b.absorb(b.grammar.make(type, b.depth()));
  const Array out = b.output(type, {elements.size()});
  b.store(out, elements.index, value);
  std::vector<std::string> names;
  for (const Function& function : functions) names.push_back(function.name);
  return b.finish(
      Category::function, kernel_name(b, "terms"),
      sentence(per_element(b, "evaluates " + listed(names) + " and stores " + value.phrase)));
}

// A struct of parameters, or an array of structs.
Program with_struct(Builder& b) {
  const bool array = b.dice.chance(0.5);
  const std::string type_name =
      b.dice.pick({"Params", "Settings", "Particle", "Node", "Sample", "Coeffs"});
  const std::string name = array ? b.names.array() : b.names.take({"params", "cfg", "settings"});
  Parameter parameter;
  parameter.name = name;
  parameter.structure = type_name;
  parameter.array = array;
  const int count = b.dice.between(2, 4);
  std::string text = "@wp.struct\nclass " + type_name + ":\n";
  const ValueType vector = vector_of(3);
  for (int i = 0; i < count; ++i) {
    const ValueType type = i > 0 && b.dice.chance(0.3)   ? vector
                           : i > 1 && b.dice.chance(0.2) ? kInt
                                                         : kFloat;
    const Range range = type == kInt ? Range{0, 9} : b.usual_range(type);
    parameter.fields.push_back({b.names.take({"scale", "shift", "radius", "power", "weight",
                                              "center", "limit", "rate_of"}),
                                type, range.low, range.high});
    text += "    " + parameter.fields.back().name + ": " + annotation(type) + "\n";
  }
  b.preamble(text + "\n\n");
  const Elements elements = begin_elements(b);
  std::string base = name;
  if (array) {
    parameter.shape = {elements.size()};
    base = b.names.take({"item", "p", "node", "entry"});
    b.line(base + " = " + name + "[" + elements.index + "]");
  }
  b.add_parameter(parameter);
  for (const StructField& field : parameter.fields)
    b.grammar.scope.push_back(
        {base + "." + field.name, field.type, {field.low, field.high}, field.name});
  if (!array || b.dice.chance(0.4)) element_inputs(b, elements, kFloat, 1);
  scalar_inputs(b, kFloat, b.dice.below(2));
  const ValueType types[] = {kFloat, b.grammar.has(vector) ? vector : kFloat};
  locals(b, types, b.statements());
  const Expr value = b.absorb(b.grammar.make(kFloat, b.depth()));
  const Array out = b.output(kFloat, {elements.size()});
  b.store(out, elements.index, value);
  return b.finish(
      Category::function, kernel_name(b, "fields"),
      sentence(per_element(b, "reads the struct " + name + " and stores " + value.phrase)));
}

}  // namespace

Program plan_function(Builder& b) {
  return b.dice.chance(0.6) ? with_functions(b) : with_struct(b);
}

}  // namespace causeway::pairs
