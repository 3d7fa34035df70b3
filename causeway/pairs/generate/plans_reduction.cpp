// One thread reduces a row, a window or a product of rows and columns.
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

using lang::Scalar;

namespace {

struct Row {
  int rows = 0;
  int cols = 0;
  std::string index = "i";
  std::string counter = "j";
  std::string count;  // text of the number of columns
};

Row begin_row(Builder& b) {
  Row row;
  row.rows = b.symbol({1, 9, 40});
  row.cols = b.symbol({1, 4, 11});
  row.index = b.names.take({"row", "i", "tid"});
  row.counter = b.names.take({"j", "k", "col"});
  b.launch({{row.rows}});
  b.line(row.index + " = wp.tid()");
  return row;
}

void count_columns(Builder& b, Row& row, const Array& matrix) {
  row.count = b.dice.chance(0.6)
                  ? b.size_parameter({row.cols}, b.dice.pick({"cols", "width", "n_cols"}))
                  : matrix.name + ".shape[1]";
}

// The term that is reduced: uses x[i, j] and whatever else is in scope.
Expr term(Builder& b, ValueType type) {
  return b.grammar.tame_to(b.grammar.make(type, b.depth()), 20);
}

struct Fold {
  const char* kind;
  double initial;
};

// Sum, maximum, minimum, sum of squares or count over the row, then an expression of it.
Program fold_rows(Builder& b, ValueType type) {
  Row row = begin_row(b);
  const Array x = b.input(type, {{row.rows}, {row.cols}}, b.usual_range(type));
  count_columns(b, row, x);
  scalar_inputs(b, type, b.dice.below(2));
  const bool weights = b.dice.chance(0.35);
  Array w{};
  if (weights) w = b.input(type, {{row.cols}}, b.usual_range(type));
  constexpr Fold kFolds[] = {{"sum", 0}, {"maximum", -1000}, {"minimum", 1000}};
  constexpr double kFoldWeights[] = {4, 1.5, 1.5};
  const Fold fold = kFolds[b.dice.weighted(kFoldWeights)];
  const std::string acc = b.names.take({"acc", "total", "best", "s"});
  b.mutable_let(type, fold.initial, acc);
  b.grammar.scope.pop_back();
  const std::size_t visible = b.grammar.scope.size();
  b.open("for " + row.counter + " in range(" + row.count + "):");
  b.grammar.scope.push_back(
      {x.name + "[" + row.index + ", " + row.counter + "]", type, x.range, x.name});
  if (weights) b.grammar.scope.push_back({w.name + "[" + row.counter + "]", type, w.range, w.name});
  const ValueType types[] = {type};
  if (b.level >= 3) locals(b, types, b.dice.below(3));
  const bool filtered = b.dice.chance(0.25);
  const Expr value = b.absorb(term(b, type));
  if (filtered) b.open("if " + b.grammar.condition(0).text + ":");
  Range range;
  if (fold.initial == 0) {
    b.line(acc + " += " + value.text);
    range = accumulated(value.range, 12);
  } else {
    b.line(acc + " = wp." + (fold.initial < 0 ? "max(" : "min(") + acc + ", " + value.text + ")");
    range = hull(value.range, {fold.initial, fold.initial});
  }
  if (filtered) b.close();
  b.close();
  b.grammar.scope.resize(visible);
  b.forget_locals();
  b.grammar.scope.push_back(
      {acc, type, range, std::string("the ") + fold.kind + " of " + value.phrase});
  const bool plain = b.dice.chance(0.4);
  const Expr result =
      plain ? variable_expr(b.grammar.scope.back())
            : b.grammar.tame(binary(
                  b.dice.chance(0.5) ? '*' : '-', variable_expr(b.grammar.scope.back()),
                  b.dice.chance(0.5) ? b.grammar.constant(type.scalar) : b.grammar.make(type, 1),
                  type));
  const Array out = b.output(type, {{row.rows}});
  b.store(out, row.index, result);
  return b.finish(Category::reduction, kernel_name(b, "rows"),
                  sentence("reduces each row of " + x.name + " to " + result.phrase));
}

// Mean and variance, or a softmax: two passes over the row.
Program two_passes(Builder& b, ValueType type) {
  Row row = begin_row(b);
  const Array x = b.input(type, {{row.rows}, {row.cols}}, b.usual_range(type));
  count_columns(b, row, x);
  const std::string at = x.name + "[" + row.index + ", " + row.counter + "]";
  scalar_inputs(b, type, b.dice.below(2));
  b.grammar.scope.push_back({at, type, x.range, x.name});
  const Expr value = term(b, type);
  b.grammar.scope.pop_back();
  const std::string first = b.names.take({"mean", "center", "total"});
  const std::string loop = "for " + row.counter + " in range(" + row.count + "):";
  const std::string size = annotation(type) + "(" + row.count + ")";
  b.mutable_let(type, 0, first);
  b.open(loop);
  b.line(first + " += " + value.text);
  b.close();
  b.line(first + " = " + first + " / " + size);
  b.in_scope(first).range = hull(value.range, {0, 0});
  const std::string second = b.names.take({"var", "spread", "norm", "energy_sum"});
  b.mutable_let(type, 0, second);
  b.grammar.scope.pop_back();
  b.grammar.scope.push_back({at, type, x.range, x.name});
  b.open(loop);
  Expr deviation = b.dice.chance(0.5) ? binary('-', value, variable_expr(b.in_scope(first)), type)
                                      : b.grammar.make(type, b.depth());
  deviation = b.grammar.tame_to(std::move(deviation), 8);
  const std::string name = b.names.local();
  b.line(name + " = " + deviation.text);
  const bool powers = b.dice.chance(0.7);
  b.line(second + " += " + (powers ? name + " * " + name : "wp.abs(" + name + ")"));
  b.close();
  b.grammar.scope.pop_back();
  const Variable spread{
      second, type, {0, 12 * 64}, "the summed " + std::string(powers ? "squares" : "magnitudes")};
  b.grammar.scope.push_back(spread);
  const Expr result = b.grammar.make(type, b.depth());
  const Array out = b.output(type, {{row.rows}});
  const Expr stored = result.text.find(second) == std::string::npos
                          ? b.grammar.tame(binary('+', result, variable_expr(spread), type))
                          : result;
  b.store(out, row.index, stored);
  return b.finish(Category::reduction, kernel_name(b, "moments"),
                  sentence("averages " + value.phrase + " over each row of " + x.name +
                           ", then combines it with " + spread.phrase + " of the deviations"));
}

// c[i, j] = sum over k of f(a[i, k], b[k, j]).
Program product(Builder& b, ValueType type) {
  const int rows = b.symbol({1, 4, 9});
  const int cols = b.symbol({1, 4, 9});
  const int inner = b.symbol({1, 3, 8});
  b.launch({{rows}, {cols}});
  b.line("i, j = wp.tid()");
  const Array x = b.input(type, {{rows}, {inner}}, b.usual_range(type));
  const Array y = b.input(type, {{inner}, {cols}}, b.usual_range(type));
  const std::string k = b.size_parameter({inner}, b.dice.pick({"inner", "depth", "n_inner"}));
  const std::string acc = b.names.take({"acc", "total", "sum_k"});
  scalar_inputs(b, type, b.dice.below(2));
  b.mutable_let(type, 0, acc);
  b.grammar.scope.pop_back();
  const std::size_t visible = b.grammar.scope.size();
  const std::string at = b.names.take({"k", "kk", "m"});
  b.open("for " + at + " in range(" + k + "):");
  b.grammar.scope.push_back({x.name + "[i, " + at + "]", type, x.range, x.name});
  b.grammar.scope.push_back({y.name + "[" + at + ", j]", type, y.range, y.name});
  const Variable left = b.grammar.scope[visible];
  const Variable right = b.grammar.scope[visible + 1];
  Expr value = b.dice.chance(0.5) ? binary('*', variable_expr(left), variable_expr(right), type)
                                  : binary('-', variable_expr(left), variable_expr(right), type);
  b.let(value);
  value = b.absorb(term(b, type));
  b.line(acc + " += " + value.text);
  b.close();
  b.grammar.scope.resize(visible);
  b.forget_locals();
  b.grammar.scope.push_back({acc, type, accumulated(value.range, 9), "the sum of " + value.phrase});
  Expr result = variable_expr(b.grammar.scope.back());
  if (b.level >= 2)
    result = b.grammar.tame(
        binary(b.dice.chance(0.5) ? '*' : '+', result, b.grammar.make(type, 1), type));
  const Array out = b.output(type, {{rows}, {cols}});
  b.store(out, "i, j", result);
  return b.finish(Category::reduction, kernel_name(b, "product"),
                  sentence("combines rows of " + x.name + " with columns of " + y.name + " into " +
                           result.phrase));
}

// A running value written at every place of the row.
Program scan(Builder& b, ValueType type) {
  Row row = begin_row(b);
  const Array x = b.input(type, {{row.rows}, {row.cols}}, b.usual_range(type));
  count_columns(b, row, x);
  scalar_inputs(b, type, b.dice.below(2));
  const std::string acc = b.names.take({"running", "carry", "state", "acc"});
  b.mutable_let(type, 0, acc);
  b.grammar.scope.pop_back();
  b.open("for " + row.counter + " in range(" + row.count + "):");
  b.grammar.scope.push_back(
      {x.name + "[" + row.index + ", " + row.counter + "]", type, x.range, x.name});
  const Expr value = term(b, type);
  const bool decayed = lang::is_float(type.scalar) && b.dice.chance(0.5);
  const Expr keep = literal(type.scalar, b.dice.pick({0.5, 0.9, 0.8}));
  b.line(decayed ? acc + " = " + acc + " * " + keep.text + " + " + within(value, Binds::product)
                 : acc + " = " + acc + " + " + within(value, Binds::product));
  const double top =
      decayed ? value.range.magnitude() / (1 - keep.range.low) : 12 * value.range.magnitude();
  b.grammar.scope.push_back({acc, type, {-top, top}, "the running sum of " + value.phrase});
  const Expr result =
      b.dice.chance(0.5) ? variable_expr(b.grammar.scope.back()) : b.grammar.make(type, b.depth());
  const Expr stored =
      result.text.find(acc) == std::string::npos
          ? b.grammar.tame(binary('+', variable_expr(b.grammar.scope.back()), result, type))
          : result;
  const Array out = b.output(type, {{row.rows}, {row.cols}});
  b.store(out, row.index + ", " + row.counter, stored);
  b.close();
  return b.finish(Category::reduction, kernel_name(b, "scan"),
                  sentence("stores " + stored.phrase + " along each row of " + x.name));
}

}  // namespace

Program plan_reduction(Builder& b) {
  const ValueType type = scalar_of(b.dice.chance(0.9) ? Scalar::f32 : Scalar::f64);
  constexpr double kWeights[] = {4, 2, 2.5, 2};
  switch (b.dice.weighted(kWeights)) {
    case 0: return fold_rows(b, b.dice.chance(0.85) ? type : kInt);
    case 1: return two_passes(b, type);
    case 2: return product(b, type);
    default: return scan(b, type);
  }
}

}  // namespace causeway::pairs
