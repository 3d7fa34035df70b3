#include "causeway/tables/split.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace causeway::tables {

std::vector<std::int64_t> stratified_sample(std::span<const std::int64_t> classes,
                                            std::int64_t count, Generator& generator) {
  const auto n_rows = static_cast<std::int64_t>(classes.size());
  count = std::min(count, n_rows);
  // In random order, the rows of every class get the positions (k + 1/2) / size between 0 and 1.
  // The first rows by position then have every class's share.
  std::vector<std::int64_t> sizes;
  for (const std::int64_t c : classes) {
    if (c >= static_cast<std::int64_t>(sizes.size())) sizes.resize(static_cast<std::size_t>(c) + 1);
    ++sizes[static_cast<std::size_t>(c)];
  }
  const auto order = generator.permutation(n_rows).to_vector<std::int64_t>();
  std::vector<std::int64_t> seen(sizes.size(), 0);
  struct Position {
    bool later;  // the first row of a class comes before all others
    double share;
    std::int64_t row;
  };
  std::vector<Position> positions;
  for (const std::int64_t row : order) {
    const auto c = static_cast<std::size_t>(classes[static_cast<std::size_t>(row)]);
    const auto k = static_cast<double>(seen[c]++);
    positions.push_back({k > 0, (k + 0.5) / static_cast<double>(sizes[c]), row});
  }
  std::stable_sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::pair(a.later, a.share) < std::pair(b.later, b.share);
  });
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) {
    chosen.push_back(positions[static_cast<std::size_t>(i)].row);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::int64_t> weighted_sample(std::span<const double> weights,
                                          std::span<const std::int64_t> classes, std::int64_t count,
                                          Generator& generator) {
  const auto n_rows = static_cast<std::int64_t>(weights.size());
  auto order = generator.permutation(n_rows).to_vector<std::int64_t>();
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return classes[static_cast<std::size_t>(a)] < classes[static_cast<std::size_t>(b)];
  });
  // Systematic sampling: marks at equal distances along the cumulative weights.
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double offset = generator.uniform({1}, 0.01, 0.99, DType::f64).item();
  std::vector<std::int64_t> chosen;
  double cumulative = 0;
  for (const std::int64_t row : order) {
    cumulative += weights[static_cast<std::size_t>(row)];
    const double marks = cumulative / total * static_cast<double>(count);
    while (std::ssize(chosen) < count && static_cast<double>(chosen.size()) + offset < marks) {
      chosen.push_back(row);
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Halves split(std::span<const std::int64_t> classes, std::int64_t n_context, Generator& generator) {
  const auto n_rows = static_cast<std::int64_t>(classes.size());
  const auto context = stratified_sample(classes, n_context, generator);
  std::vector<std::int64_t> query;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    if (!std::binary_search(context.begin(), context.end(), row)) query.push_back(row);
  }
  const auto tensor = [](const std::vector<std::int64_t>& rows) {
    return Tensor::from<std::int64_t>(rows, {static_cast<std::int64_t>(rows.size())});
  };
  return {tensor(context), tensor(query)};
}

Halves halve(std::span<const std::int64_t> classes, Generator& generator) {
  return split(classes, static_cast<std::int64_t>(classes.size()) / 2, generator);
}

}  // namespace causeway::tables
