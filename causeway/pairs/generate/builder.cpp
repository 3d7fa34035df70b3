#include "causeway/pairs/generate/builder.h"

#include <algorithm>
#include <cctype>

namespace causeway::pairs {

namespace {

int count_word(const std::string& text, const std::string& word) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_word(text[end]))) ++found;
  }
  return found;
}

}  // namespace

Builder::Builder(std::uint64_t seed, int difficulty, const Profile& profile)
    : dice(seed), names(dice, pick_theme(dice)), grammar(dice, profile), level(difficulty) {}

int Builder::symbol(SizeSymbol symbol) {
  symbols_.push_back(symbol);
  return static_cast<int>(symbols_.size()) - 1;
}

Range Builder::usual_range(ValueType type) {
  if (lang::is_unsigned(type.scalar)) return {0, dice.pick({15.0, 31.0, 100.0})};
  if (!lang::is_float(type.scalar)) {
    const double top = dice.pick({9.0, 20.0, 50.0});
    return dice.chance(0.5) ? Range{0, top} : Range{-top, top};
  }
  const double top = dice.pick({1.0, 2.0, 3.0});
  if (!type.is_scalar()) return {-top, top};
  return dice.chance(0.3) ? Range{0.1, top} : Range{-top, top};
}

Array Builder::input(ValueType type, std::vector<Size> shape, Range range) {
  Parameter parameter;
  parameter.name = names.array();
  parameter.type = type;
  parameter.array = true;
  parameter.shape = std::move(shape);
  parameter.fill = lang::is_float(type.scalar) ? Fill::uniform : Fill::integers;
  parameter.low = range.low;
  parameter.high = range.high;
  parameters_.push_back(parameter);
  return {parameter.name, type, range};
}

Array Builder::index_input(std::vector<Size> shape, Fill fill, Size bound) {
  Parameter parameter;
  parameter.name = names.take({"indices", "idx", "order", "perm", "neighbors", "targets_idx"});
  parameter.type = kInt;
  parameter.array = true;
  parameter.shape = std::move(shape);
  parameter.fill = fill;
  parameter.bound = bound;
  parameters_.push_back(parameter);
  return {parameter.name, kInt, {0, 100}};
}

Array Builder::output(ValueType type, std::vector<Size> shape, double initial) {
  Parameter parameter;
  parameter.name = names.result();
  parameter.type = type;
  parameter.array = true;
  parameter.written = true;
  parameter.shape = std::move(shape);
  parameter.fill = Fill::constant;
  parameter.low = parameter.high = initial;
  parameters_.push_back(parameter);
  return {parameter.name, type, {initial, initial}};
}

Array Builder::updated(ValueType type, std::vector<Size> shape, Range range) {
  const Array array = input(type, std::move(shape), range);
  parameters_.back().written = true;
  return array;
}

Variable Builder::scalar(ValueType type, Range range) {
  Parameter parameter;
  parameter.name = names.scalar();
  parameter.type = type;
  parameter.fill = lang::is_float(type.scalar) ? Fill::uniform : Fill::integers;
  parameter.low = range.low;
  parameter.high = range.high;
  parameters_.push_back(parameter);
  grammar.scope.push_back({parameter.name, type, range, {}});
  return grammar.scope.back();
}

std::string Builder::size_parameter(Size size, std::string_view preferred) {
  Parameter parameter;
  parameter.name = names.take({preferred});
  parameter.type = kInt;
  parameter.fill = Fill::size;
  parameter.bound = size;
  parameters_.push_back(parameter);
  return parameter.name;
}

Parameter& Builder::parameter(const std::string& name) {
  return *std::ranges::find(parameters_, name, &Parameter::name);
}

void Builder::line(std::string text) {
  body_.append(static_cast<std::size_t>(indent_) * 4, ' ');
  body_ += text;
  body_ += '\n';
}

Variable Builder::let(const Expr& expr, std::string name) {
  Variable variable{name.empty() ? names.local() : std::move(name), expr.type, expr.range, {}};
  line(variable.name + " = " + expr.text);
  grammar.scope.push_back(variable);
  locals_.push_back(variable);
  return variable;
}

Variable Builder::mutable_let(ValueType type, double initial, std::string name) {
  Variable variable{std::move(name), type, {initial, initial}, {}};
  const Expr value = literal(type.scalar, initial);
  // A name bound to a literal cannot change in a dynamic loop.
  const bool wrapped = value.text.back() == ')';
  line(variable.name + " = " + (wrapped ? value.text : annotation(type) + "(" + value.text + ")"));
  grammar.scope.push_back(variable);
  return variable;
}

Variable& Builder::in_scope(std::string_view name) {
  return *std::ranges::find(grammar.scope, name, &Variable::name);
}

// Whether the name is in the text, or in a statement after the one that defines it.
bool Builder::is_used(const std::string& name, const std::string& text) const {
  return count_word(text, name) > 0 || count_word(body_, name) > 1;
}

Expr Builder::absorb(Expr expr) {
  using Shape = ValueType::Shape;
  const auto visible = [this](const Variable& local) {
    return std::ranges::find(grammar.scope, local.name, &Variable::name) != grammar.scope.end();
  };
  for (const Variable& local : locals_) {
    if (is_used(local.name, expr.text) || !visible(local)) continue;
    Expr part = variable_expr(local);
    if (local.type == expr.type) {
      expr = grammar.tame(binary(dice.chance(0.6) ? '+' : '-', expr, part, expr.type));
      continue;
    }
    if (local.type.scalar != expr.type.scalar) {
      if (!local.type.is_scalar() || !expr.type.is_scalar()) continue;
      part = call(annotation(expr.type), {&part}, expr.type, part.range, part.phrase);
    }
    const ValueType scalar = scalar_of(expr.type.scalar);
    const double n = local.type.count();
    if (local.type.shape == Shape::vector || local.type.shape == Shape::quaternion)
      part = call("wp.length", {&part}, scalar, {0, 2 * part.range.magnitude()},
                  "the length of " + part.phrase);
    if (local.type.shape == Shape::matrix)
      part = call("wp.trace", {&part}, scalar, part.range * Range{n, n},
                  "the trace of " + part.phrase);
    expr = expr.type.is_scalar()
               ? grammar.tame(binary('+', expr, part, expr.type))
               : grammar.tame(binary('*', expr, grammar.tame_to(part, 10), expr.type));
  }
  return expr;
}

Program Builder::finish(Category category, std::string name, std::string description) {
  std::erase_if(parameters_, [this](const Parameter& p) { return count_word(body_, p.name) == 0; });
  // Inputs first, then scalars, then what is written.
  const auto rank = [](const Parameter& p) { return p.array ? (p.written ? 2 : 0) : 1; };
  std::ranges::stable_sort(parameters_, {}, rank);
  std::string signature;
  for (const Parameter& parameter : parameters_) {
    if (!signature.empty()) signature += ", ";
    const std::string type =
        parameter.structure.empty() ? annotation(parameter.type) : parameter.structure;
    signature += parameter.name + ": ";
    if (!parameter.array) {
      signature += type;
    } else if (parameter.shape.size() == 1) {
      signature += "wp.array(dtype=" + type + ")";
    } else {
      signature += "wp.array" + std::to_string(parameter.shape.size()) + "d(dtype=" + type + ")";
    }
  }
  Program program;
  program.kernel = std::move(name);
  program.description = std::move(description);
  program.source = "import warp as wp\n\n\n" + preamble_ + "@wp.kernel\ndef " + program.kernel +
                   "(" + signature + "):\n    \"\"\"" + program.description + "\"\"\"\n" + body_;
  program.category = category;
  program.level = level;
  program.symbols = std::move(symbols_);
  program.dims = std::move(dims_);
  program.parameters = std::move(parameters_);
  return program;
}

}  // namespace causeway::pairs
