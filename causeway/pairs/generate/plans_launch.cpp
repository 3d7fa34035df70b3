// Launches of two to four dimensions.
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

using lang::Scalar;

Program plan_launch(Builder& b) {
  const ValueType type = scalar_of(b.dice.chance(0.85)  ? Scalar::f32
                                   : b.dice.chance(0.5) ? Scalar::i32
                                                        : Scalar::f64);
  constexpr double kWeights[] = {4, 2.5, 1};
  const int dims = 2 + static_cast<int>(b.dice.weighted(kWeights));
  static constexpr std::string_view kNames[3][2] = {
      {"i, j", "row, col"}, {"i, j, k", "x, y, z"}, {"i, j, k, l", "n, c, h, w"}};
  const std::string indices(kNames[dims - 2][b.dice.below(2)]);
  std::vector<std::string> index;
  std::vector<Size> sizes;
  for (std::size_t at = 0; at < indices.size(); at = indices.find(' ', at) == std::string::npos
                                                         ? indices.size()
                                                         : indices.find(' ', at) + 1) {
    index.push_back(indices.substr(at, indices.find(',', at) - at));
    const std::string_view taken[] = {index.back()};
    b.names.take(taken);
    sizes.push_back({b.symbol({1, dims == 2 ? 5 : 3, dims == 2 ? 12 : 5})});
  }
  b.launch(sizes);
  b.line(indices + " = wp.tid()");
  const bool whole = b.dice.chance(0.7);
  if (whole) {
    const Array x = b.input(type, sizes, b.usual_range(type));
    b.grammar.scope.push_back({x.name + "[" + indices + "]", type, x.range, x.name});
  }
  // Operands that are broadcast along the other dimensions.
  for (int d = 0; d < dims; ++d) {
    if (!b.dice.chance(whole ? 0.35 : 0.7)) continue;
    const auto at = static_cast<std::size_t>(d);
    const Array v = b.input(type, {sizes[at]}, b.usual_range(type));
    b.grammar.scope.push_back({v.name + "[" + index[at] + "]", type, v.range, v.name});
  }
  scalar_inputs(b, type, b.grammar.scope.empty() ? 1 : b.dice.below(2));
  if (b.dice.chance(0.4)) {
    for (const std::string& name : index) {
      if (b.dice.chance(0.6)) b.grammar.scope.push_back({name, kInt, {0, 12}, "index " + name});
    }
  }
  const ValueType types[] = {type};
  locals(b, types, b.statements());
  const Expr value = b.absorb(b.grammar.make(type, b.depth()));
  if (dims == 2 && b.dice.chance(0.25)) {  // a flat output
    const std::string width = b.size_parameter(sizes[1], b.dice.pick({"width", "pitch", "n_cols"}));
    Array out = b.output(type, {{sizes[0].symbol, 1, 0}});
    b.parameter(out.name).flat = true;
    b.store(out, index[0] + " * " + width + " + " + index[1], value);
    return b.finish(
        Category::launch, kernel_name(b, "grid"),
        sentence("stores " + value.phrase + " in row-major order for each cell of a grid"));
  }
  const Array out = b.output(type, sizes);
  b.store(out, indices, value);
  return b.finish(Category::launch, kernel_name(b, "grid"),
                  sentence("stores " + value.phrase + " for each cell of a grid of " +
                           std::to_string(dims) + " dimensions"));
}

}  // namespace causeway::pairs
