#include "causeway/pairs/generate/plans.h"

#include <cctype>

namespace causeway::pairs {

using lang::Scalar;

Profile profile_of(Category category, Dice& dice) {
  Profile profile;
  switch (category) {
    case Category::arithmetic: profile.bits = 1; break;
    case Category::math: profile.math = 2; break;
    case Category::vector:
      profile.vector = 2;
      profile.math = 0.3;
      break;
    case Category::matrix:
      profile.vector = 1;
      profile.matrix = 2;
      profile.math = 0.2;
      break;
    default:
      profile.math = dice.pick({0.3, 0.6, 1.0});
      profile.select = dice.pick({0.15, 0.4});
      profile.bits = 0.4;
      profile.vector = 0.5;
      profile.matrix = 0.5;
      break;
  }
  return profile;
}

Scalar pick_float(Dice& dice) {
  constexpr double kWeights[] = {12, 2, 0.7};
  constexpr Scalar kScalars[] = {Scalar::f32, Scalar::f64, Scalar::f16};
  return kScalars[dice.weighted(kWeights)];
}

Scalar pick_int(Dice& dice) {
  constexpr double kWeights[] = {6, 1.5, 1.5};
  constexpr Scalar kScalars[] = {Scalar::i32, Scalar::i64, Scalar::u32};
  return kScalars[dice.weighted(kWeights)];
}

Elements begin_elements(Builder& b, SizeSymbol symbol) {
  Elements elements;
  elements.symbol = b.symbol(symbol);
  elements.index = b.names.take({"i", "tid", "idx", "gid"});
  b.launch({elements.size()});
  b.line(elements.index + " = wp.tid()");
  if (b.dice.chance(0.3)) {
    const std::string n = b.size_parameter(elements.size(), b.dice.pick({"n", "count", "size"}));
    b.open("if " + elements.index + " >= " + n + ":");
    b.line("return");
    b.close();
  }
  return elements;
}

void element_inputs(Builder& b, const Elements& elements, ValueType type, int count) {
  const bool named = b.dice.chance(0.4);
  for (int k = 0; k < count; ++k) {
    const Array array = b.input(type, {elements.size()}, b.usual_range(type));
    if (named) {
      const std::string name = array.name.size() > 1 ? array.name.substr(0, 1) + std::to_string(k)
                                                     : array.name + elements.index;
      const std::string_view names[] = {name};
      b.let(array.at(elements.index), b.names.take(names));
      b.grammar.scope.back().phrase = array.name;
    } else {
      b.grammar.scope.push_back(
          {array.name + "[" + elements.index + "]", type, array.range, array.name});
    }
  }
}

void scalar_inputs(Builder& b, ValueType type, int count) {
  for (int k = 0; k < count; ++k) b.scalar(type, b.usual_range(type));
}

void locals(Builder& b, std::span<const ValueType> types, int count) {
  for (int k = 0; k < count; ++k) b.let(b.grammar.make(b.dice.pick(types), b.depth()));
}

std::string kernel_name(Builder& b, std::string_view what) {
  const Theme& theme = b.names.theme();
  std::string name(b.dice.pick(theme.verbs));
  if (!what.empty() && b.dice.chance(0.6)) return name + "_" + std::string(what);
  return name + "_" + std::string(b.dice.pick(theme.results));
}

std::string sentence(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string per_element(const Builder& b, const std::string& what) {
  return what + " for each " + std::string(b.names.theme().element);
}

}  // namespace causeway::pairs
