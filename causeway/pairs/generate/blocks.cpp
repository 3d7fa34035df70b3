#include "causeway/pairs/generate/blocks.h"

#include <algorithm>

namespace causeway::pairs {

namespace {

void mention(std::vector<std::string>& phrases, std::string phrase) {
  if (std::ranges::find(phrases, phrase) == phrases.end()) phrases.push_back(std::move(phrase));
}

}  // namespace

void Blocks::declare() {
  const Expr start = b_.grammar.tame_to(b_.grammar.make(type_, b_.dice.between(1, 2)), 50);
  const Variable variable = b_.let(start);
  const double bound = std::max(50.0, start.range.magnitude());
  b_.in_scope(variable.name).range = {-bound, bound};
  variables_.push_back({variable.name, type_, bound});
}

void Blocks::assign() {
  const Mutable& target =
      variables_[static_cast<std::size_t>(b_.dice.below(static_cast<int>(variables_.size())))];
  const Expr value = b_.grammar.tame_to(b_.grammar.make(type_, b_.depth()), target.bound);
  b_.line(target.name + " = " + value.text);
}

void Blocks::block(const BlockOptions& options) {
  const std::size_t visible = b_.grammar.scope.size();
  const std::size_t assignable = variables_.size();
  bool changed = false;
  for (int k = 0; k < options.budget; ++k) {
    const double nested = options.nesting > 0 ? 1 : 0;
    const double weights[] = {1.5, 2, 1.6 * nested, 1.2 * nested, 0.35 * nested};
    const BlockOptions inner{std::max(1, options.budget - 1), options.nesting - 1, options.in_loop};
    switch (b_.dice.weighted(weights)) {
      case 0:
        if (k + 1 < options.budget) {
          b_.let(b_.grammar.make(type_, b_.depth()));
          continue;
        }
        [[fallthrough]];
      case 1: assign(); break;
      case 2: branch(inner); break;
      case 3: counted_loop(inner); break;
      default: while_loop(inner); break;
    }
    changed = true;
  }
  if (!changed) assign();
  b_.grammar.scope.resize(visible);
  variables_.resize(assignable);
}

void Blocks::branch(const BlockOptions& options) {
  const Expr condition = b_.grammar.condition(b_.dice.below(2));
  b_.open("if " + condition.text + ":");
  block({b_.dice.between(1, options.budget), options.nesting, options.in_loop});
  b_.close();
  if (b_.dice.chance(0.3)) {
    b_.open("elif " + b_.grammar.condition(0).text + ":");
    block({1, 0, options.in_loop});
    b_.close();
  }
  if (b_.dice.chance(0.5)) {
    b_.open("else:");
    block({b_.dice.between(1, options.budget), options.nesting, options.in_loop});
    b_.close();
  }
  mention(phrases, "branching on whether " + condition.phrase);
}

// The argument of range(), and the most it can be.
std::string Blocks::trips(double& most) {
  if (b_.dice.chance(0.5)) {
    most = b_.dice.between(2, 8);
    return std::to_string(static_cast<int>(most));
  }
  most = 6;
  Parameter parameter;
  parameter.name = b_.names.take({"n_iters", "steps", "n_terms", "rounds"});
  parameter.type = kInt;
  parameter.fill = Fill::integers;
  parameter.low = 1;
  parameter.high = most;
  b_.add_parameter(parameter);
  return parameter.name;
}

void Blocks::leave_early() {
  if (!b_.dice.chance(0.25)) return;
  b_.open("if " + b_.grammar.condition(0).text + ":");
  b_.line(b_.dice.chance(0.5) ? "continue" : "break");
  b_.close();
}

// A sum, product-like or extreme accumulator over the iterations, which stays in scope.
void Blocks::counted_loop(const BlockOptions& options) {
  double most = 0;
  const std::string count = trips(most);
  const std::string accumulator = b_.names.take({"total", "acc", "best", "accum", "running"});
  const double weights[] = {4, lang::is_unsigned(type_.scalar) ? 0 : 1.5,
                            lang::is_float(type_.scalar) ? 1.5 : 0};
  const std::size_t kind = b_.dice.weighted(weights);
  const double start = kind == 0 ? 0 : kind == 1 ? -100 : 0;
  b_.mutable_let(type_, start, accumulator);
  const std::string counter = b_.names.take({"j", "k", "step", "it", "r"});
  b_.open("for " + counter + " in range(" + count + "):");
  const std::size_t visible = b_.grammar.scope.size();
  b_.grammar.scope.push_back({counter, kInt, {0, most - 1}, {}});
  const Variable before = b_.in_scope(accumulator);
  std::erase_if(b_.grammar.scope, [&](const Variable& v) { return v.name == accumulator; });
  leave_early();
  const Expr term = b_.grammar.tame_to(b_.grammar.make(type_, b_.depth()), 20);
  Range range;
  if (kind == 0) {
    b_.line(accumulator + " += " + term.text);
    range = accumulated(term.range, most);
    mention(phrases, "summing " + term.phrase);
  } else if (kind == 1) {
    b_.line(accumulator + " = wp.max(" + accumulator + ", " + term.text + ")");
    range = {-100, std::max(-100.0, term.range.high)};
    mention(phrases, "keeping the maximum of " + term.phrase);
  } else {
    const Expr decay = literal(type_.scalar, b_.dice.pick({0.5, 0.8, 0.9, 0.25}));
    b_.line(accumulator + " = " + accumulator + " * " + decay.text + " + " +
            within(term, Binds::product));
    const double top = term.range.magnitude() / (1 - decay.range.low);
    range = {-top, top};
    mention(phrases, "iterating a decayed sum of " + term.phrase);
  }
  b_.grammar.scope.push_back({accumulator, type_, range, {}});
  if (options.nesting > 0 && b_.dice.chance(0.35) && !variables_.empty())
    block({1, options.nesting, true});
  b_.close();
  b_.grammar.scope.resize(std::min(visible, b_.grammar.scope.size()));
  std::erase_if(b_.grammar.scope,
                [&](const Variable& v) { return v.name == counter || v.name == accumulator; });
  b_.grammar.scope.push_back({accumulator, type_, range, {}});
  if (!variables_.empty()) {  // what the loop computed is used
    const Mutable& target = variables_.front();
    const Expr sum =
        binary(b_.dice.chance(0.6) ? '+' : '-', variable_expr(b_.in_scope(target.name)),
               variable_expr(b_.grammar.scope.back()), type_);
    const Expr value = b_.grammar.tame_to(sum, target.bound);
    b_.line(target.name + " = " + value.text);
  }
}

void Blocks::while_loop(const BlockOptions& options) {
  double most = 0;
  const std::string count = trips(most);
  const std::string counter = b_.names.take({"iteration", "m", "tries", "pass_no"});
  b_.line(counter + " = int(0)");
  std::string condition = counter + " < " + count;
  if (b_.dice.chance(0.5)) {
    const Expr also = b_.grammar.condition(0);
    condition += " and " + within(also, Binds::negation);
  }
  b_.open("while " + condition + ":");
  const std::size_t visible = b_.grammar.scope.size();
  b_.grammar.scope.push_back({counter, kInt, {0, most}, {}});
  block({b_.dice.between(1, 2), std::min(0, options.nesting), true});
  b_.line(counter + " += 1");
  b_.close();
  b_.grammar.scope.resize(visible);
  mention(phrases, "repeating at most " + count + " times");
}

}  // namespace causeway::pairs
