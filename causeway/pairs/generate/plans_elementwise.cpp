// One thread for each element: arithmetic, math functions, vectors and matrices.
#include "causeway/pairs/generate/plans.h"

#include <algorithm>

namespace causeway::pairs {

using lang::Scalar;

namespace {

// Stores the value: in an output, or over an input that is updated in place.
Program finish_elementwise(Builder& b, const Elements& elements, Category category,
                           ValueType type) {
  Expr value = b.absorb(b.grammar.make(type, b.depth()));
  const double choice = b.dice.uniform();
  std::string what = "computes " + value.phrase;
  if (choice < 0.8) {
    const Array out = b.output(type, {elements.size()});
    b.store(out, elements.index, value);
  } else {
    const Array state = b.updated(type, {elements.size()}, b.usual_range(type));
    const bool add = choice < 0.9;
    const Expr old = state.at(elements.index);
    const bool decays = type.is_scalar() && lang::is_float(type.scalar) && b.dice.chance(0.5);
    const Expr kept =
        decays ? binary('*', old, literal(type.scalar, b.dice.pick({0.5, 0.9, 0.99})), type) : old;
    b.line(old.text + (add ? " += " + value.text : " = " + binary('+', kept, value, type).text));
    what = (add ? "adds to " : "updates ") + state.name + (add ? " " : " with ") + value.phrase;
  }
  return b.finish(category, kernel_name(b, ""), sentence(per_element(b, what)));
}

}  // namespace

Program plan_elementwise(Builder& b, Category category) {
  const bool integers = category == Category::arithmetic && b.dice.chance(0.35);
  const ValueType type = scalar_of(integers ? pick_int(b.dice) : pick_float(b.dice));
  const Elements elements = begin_elements(b);
  element_inputs(b, elements, type, b.dice.between(1, 2 + b.level / 3));
  scalar_inputs(b, type, b.dice.below(2 + b.level / 2));
  if (type != kInt && b.dice.chance(0.15))
    b.grammar.scope.push_back({elements.index, kInt, {0, 100}, "the index"});
  const ValueType types[] = {type};
  locals(b, types, b.statements());
  return finish_elementwise(b, elements, category, type);
}

Program plan_composite(Builder& b, Category category) {
  const Elements elements = begin_elements(b);
  const Scalar scalar = b.dice.chance(0.88) ? Scalar::f32 : Scalar::f64;
  const int n =
      category == Category::vector ? b.dice.pick({2, 3, 3, 3, 4}) : b.dice.pick({2, 3, 3, 4});
  const ValueType vector = vector_of(n, scalar);
  const ValueType matrix = matrix_of(n, scalar);
  const ValueType number = scalar_of(scalar);
  std::vector<ValueType> types{vector, vector, number};
  const bool quaternions =
      category == Category::matrix && n == 3 && scalar == Scalar::f32 && b.dice.chance(0.3);
  if (category == Category::matrix) {
    if (quaternions) {
      element_inputs(b, elements, kQuat, 1);
    } else {
      element_inputs(b, elements, matrix, b.dice.between(1, 2));
      types = {matrix, matrix, vector, number};
    }
    if (quaternions || b.dice.chance(0.6)) element_inputs(b, elements, vector, 1);
  } else {
    element_inputs(b, elements, vector, b.dice.between(1, 2 + b.level / 3));
  }
  if (b.dice.chance(0.4)) element_inputs(b, elements, number, 1);
  scalar_inputs(b, number, b.dice.below(2 + b.level / 3));
  if (b.dice.chance(0.2)) scalar_inputs(b, vector, 1);
  if (!b.grammar.has(number))
    types.erase(std::remove(types.begin(), types.end(), number), types.end());
  if (b.grammar.has(vector) && !b.grammar.has(number)) types.push_back(vector);
  locals(b, types, b.statements());
  const ValueType result = quaternions ? vector : b.dice.pick(std::span<const ValueType>(types));
  return finish_elementwise(b, elements, category, result);
}

}  // namespace causeway::pairs
