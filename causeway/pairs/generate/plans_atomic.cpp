// Many threads update few elements: totals, extremes, counts, histograms and flags.
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

using lang::Scalar;

namespace {

// An index expression in [0, bins).
std::string bin_of(Builder& b, const Elements& elements, int bins, ValueType type,
                   std::string& phrase) {
  const std::string last = std::to_string(bins - 1);
  if (!lang::is_float(type.scalar) && b.dice.chance(0.5)) {
    Expr value = b.grammar.make(type, 1);
    if (value.range.low < 0)
      value = call("wp.abs", {&value}, type, absolute(value.range),
                   "the absolute value of " + value.phrase);
    phrase = value.phrase + " modulo " + std::to_string(bins);
    const Expr rest{within(value, Binds::product) + " % " + literal(type.scalar, bins).text,
                    Binds::product,
                    type,
                    {},
                    {}};
    return type == kInt ? rest.text : "int(" + rest.text + ")";
  }
  if (b.dice.chance(0.25)) {
    phrase = "the index modulo " + std::to_string(bins);
    return elements.index + " % " + std::to_string(bins);
  }
  const Expr value = b.grammar.make(type, 1);
  phrase = "the bin of " + value.phrase;
  if (!lang::is_float(type.scalar)) return "wp.clamp(int(" + value.text + "), 0, " + last + ")";
  const Expr scaled =
      binary('*', value, literal(type.scalar, b.dice.pick({2.0, 3.0, 4.0, 5.0})), type);
  return "wp.clamp(int(" + scaled.text + "), 0, " + last + ")";
}

struct Update {
  const char* function;
  const char* verb;
  double initial;
};

Update pick_update(Builder& b, ValueType type) {
  constexpr Update kNumbers[] = {{"atomic_add", "adds", 0},
                                 {"atomic_max", "takes the maximum of", -1000},
                                 {"atomic_min", "takes the minimum of", 1000},
                                 {"atomic_sub", "subtracts", 0}};
  constexpr Update kBits[] = {{"atomic_or", "combines by bitwise or", 0},
                              {"atomic_xor", "combines by bitwise xor", 0},
                              {"atomic_and", "combines by bitwise and", 255}};
  if (!lang::is_float(type.scalar) && b.dice.chance(0.35)) return b.dice.pick(kBits);
  constexpr double kWeights[] = {5, 2, 2, 0.7};
  Update update = kNumbers[b.dice.weighted(kWeights)];
  if (lang::is_unsigned(type.scalar) && update.initial < 0) update.initial = 0;
  if (lang::is_unsigned(type.scalar) && update.function[7] == 's') update = kNumbers[0];
  if (type.scalar == Scalar::f16) update = kNumbers[0];
  return update;
}

}  // namespace

Program plan_atomic(Builder& b) {
  const ValueType type = scalar_of(b.dice.chance(0.6) ? Scalar::f32 : pick_int(b.dice));
  const Elements elements = begin_elements(b);
  element_inputs(b, elements, type, b.dice.between(1, 2));
  scalar_inputs(b, type, b.dice.below(2 + b.level / 3));
  const ValueType types[] = {type};
  locals(b, types, b.statements());
  std::vector<std::string> parts;
  const int updates = b.dice.between(1, 1 + b.level / 3);
  int opened = 0;
  if (b.dice.chance(0.35)) {
    const Expr condition = b.grammar.condition(b.dice.below(2));
    b.open("if " + condition.text + ":");
    opened = 1;
  }
  for (int k = 0; k < updates; ++k) {
    const Update update = pick_update(b, type);
    const bool whole = b.dice.chance(0.4);
    const bool count = !whole && b.dice.chance(0.25);
    const int bins = whole ? 1 : b.dice.pick({4, 5, 8, 10, 16, 32});
    const Array target =
        count ? b.output(kInt, {{-1, 1, bins}}) : b.output(type, {{-1, 1, bins}}, update.initial);
    std::string phrase;
    const std::string index = whole ? "0" : bin_of(b, elements, bins, type, phrase);
    Expr value = count ? literal(Scalar::i32, 1) : b.grammar.make(type, b.depth());
    if (k == 0 && !count) value = b.absorb(std::move(value));
    const std::string where = whole ? target.name : target.name + " by " + phrase;
    if (count) {
      b.line("wp.atomic_add(" + target.name + ", " + index + ", 1)");
      parts.push_back("counts " + where);
    } else if (update.function[7] == 'a' && update.function[8] == 'd' && b.dice.chance(0.25)) {
      b.line(target.name + "[" + index + "] += " + value.text);
      parts.push_back("adds " + value.phrase + " to " + where);
    } else {
      b.line("wp." + std::string(update.function) + "(" + target.name + ", " + index + ", " +
             value.text + ")");
      parts.push_back(std::string(update.verb) + " " + value.phrase + " into " + where);
    }
  }
  if (opened > 0) b.close();
  return b.finish(Category::atomic, kernel_name(b, "totals"),
                  sentence(per_element(b, listed(parts))));
}

}  // namespace causeway::pairs
