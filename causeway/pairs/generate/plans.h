// One function for each category: they choose how threads map to data and let the grammar fill in
// what is computed.
#pragma once

#include "causeway/pairs/generate/builder.h"

namespace causeway::pairs {

Profile profile_of(Category category, Dice& dice);

Program plan_elementwise(Builder& b, Category category);  // arithmetic, math
Program plan_composite(Builder& b, Category category);    // vector, matrix
Program plan_control_flow(Builder& b);
Program plan_atomic(Builder& b);
Program plan_memory(Builder& b);
Program plan_reduction(Builder& b);
Program plan_function(Builder& b);
Program plan_launch(Builder& b);
Program plan_mixed(Builder& b);

// What several plans share.

// Opens a one-dimensional launch over n elements: the index, and now and then a bound check against
// a parameter. Returns the name of the index.
struct Elements {
  int symbol = 0;
  std::string index;
  Size size() const { return {symbol}; }
};
Elements begin_elements(Builder& b, SizeSymbol symbol = {});
// Inputs of n elements, in scope as x[i] or as a local that holds it.
void element_inputs(Builder& b, const Elements& elements, ValueType type, int count);
// Scalar parameters in scope.
void scalar_inputs(Builder& b, ValueType type, int count);
// Statements name = expression of the types.
void locals(Builder& b, std::span<const ValueType> types, int count);
// A scalar type for the category: mostly float32.
lang::Scalar pick_float(Dice& dice);
lang::Scalar pick_int(Dice& dice);
// "verb_noun" from the theme.
std::string kernel_name(Builder& b, std::string_view what);
// "Computes the sine of x for each sample." with a capital letter and a full stop.
std::string sentence(std::string text);
std::string per_element(const Builder& b, const std::string& what);

}  // namespace causeway::pairs
