// Branches and loops over the elements, and programs that combine everything.
#include "causeway/pairs/generate/blocks.h"
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

using lang::Scalar;

namespace {

std::string described(const Blocks& blocks, const std::string& result) {
  std::string text = "computes " + result;
  if (!blocks.phrases.empty()) text += ", " + blocks.phrases.front();
  return text;
}

}  // namespace

Program plan_control_flow(Builder& b) {
  const ValueType type = scalar_of(
      b.dice.chance(0.8) ? (b.dice.chance(0.9) ? Scalar::f32 : Scalar::f64) : Scalar::i32);
  const Elements elements = begin_elements(b);
  element_inputs(b, elements, type, b.dice.between(1, 2));
  scalar_inputs(b, type, b.dice.below(3));
  if (type != kInt && b.dice.chance(0.4))
    b.grammar.scope.push_back({elements.index, kInt, {0, 100}, "the index"});
  Blocks blocks(b, type);
  blocks.declare();
  if (b.level >= 4) blocks.declare();
  const BlockOptions options{1 + b.level / 2, b.level >= 3 ? 2 : 1};
  switch (b.dice.below(4)) {
    case 0: blocks.branch(options); break;
    case 1: blocks.counted_loop(options); break;
    case 2: blocks.while_loop(options); break;
    default: blocks.branch(options); break;
  }
  if (b.level >= 2) blocks.block({b.level, b.level >= 4 ? 2 : 1});
  const Array out = b.output(type, {elements.size()});
  const Expr value = b.absorb(variable_expr(b.in_scope(blocks.variables().front().name)));
  b.store(out, elements.index, value);
  return b.finish(Category::control_flow, kernel_name(b, "values"),
                  sentence(per_element(b, described(blocks, out.name))));
}

// Vectors and scalars, a loop or branch, a neighbour or table access, and an optional total.
Program plan_mixed(Builder& b) {
  const Elements elements = begin_elements(b);
  const int n = b.dice.pick({2, 3, 3, 4});
  const ValueType vector = vector_of(n);
  if (b.dice.chance(0.7)) element_inputs(b, elements, vector, 1);
  element_inputs(b, elements, kFloat, 1);
  scalar_inputs(b, kFloat, b.dice.between(1, 2));
  if (b.dice.chance(0.5)) {  // a value found through an index
    const int table = b.symbol({1, 5, 20});
    const Array index = b.index_input({elements.size()}, Fill::indices, {table});
    const Array lookup = b.input(kFloat, {{table}}, b.usual_range(kFloat));
    const Expr found = lookup.at(index.at(elements.index).text);
    b.let(found);
  }
  const ValueType types[] = {kFloat, b.grammar.has(vector) ? vector : kFloat};
  locals(b, types, b.dice.between(1, 2));
  Blocks blocks(b, kFloat);
  blocks.declare();
  blocks.block({1 + b.level / 2, b.level >= 3 ? 2 : 1});
  const std::string name = blocks.variables().front().name;
  const Expr value = b.absorb(b.grammar.make(kFloat, 1));
  const Expr whole = b.grammar.tame(binary('+', variable_expr(b.in_scope(name)), value, kFloat));
  const Array out = b.output(kFloat, {elements.size()});
  b.store(out, elements.index, whole);
  std::string what = described(blocks, out.name);
  if (b.dice.chance(0.4)) {
    const Array total = b.output(kFloat, {{-1, 1, 1}});
    b.line("wp.atomic_add(" + total.name + ", 0, " + whole.text + ")");
    what += " and adds it to " + total.name;
  }
  return b.finish(Category::mixed, kernel_name(b, "state"), sentence(per_element(b, what)));
}

}  // namespace causeway::pairs
