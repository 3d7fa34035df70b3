#include "causeway/train/dataset_statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace causeway::train {

namespace {

constexpr std::int64_t kFew = 20;
constexpr double kMany = 900.0 / 1024.0;

struct ColumnCounts {
  std::int64_t distinct = 0;
  std::int64_t missing = 0;
};

ColumnCounts count_column(const Tensor& x, std::int64_t column) {
  std::vector<float> values = x.select(1, column).contiguous().to_vector<float>();
  const auto end = std::remove_if(values.begin(), values.end(), [](float v) { return v != v; });
  ColumnCounts counts;
  counts.missing = values.end() - end;
  std::sort(values.begin(), end);
  counts.distinct = std::unique(values.begin(), end) - values.begin();
  return counts;
}

}  // namespace

void DatasetStatistics::add(const HostBatch& batch) {
  rejected.resize(prior::rejection_reasons().size());
  for (std::size_t k = 0; k < batch.facts.size(); ++k) {
    const prior::DatasetFacts& facts = batch.facts[k];
    features.push_back(facts.n_features);
    n_attempts += facts.n_attempts;
    for (std::size_t r = 0; r < facts.rejected.size(); ++r) rejected[r] += facts.rejected[r];

    const Tensor x = batch.x_of(static_cast<std::int64_t>(k));
    double few = 0;
    double many = 0;
    double holes = 0;
    for (std::int64_t column = 0; column < facts.n_features; ++column) {
      const ColumnCounts counts = count_column(x, column);
      few += counts.distinct <= kFew;
      many += static_cast<double>(counts.distinct) > kMany * facts.n_rows;
      holes += static_cast<double>(counts.missing);
    }
    few_distinct.push_back(few / facts.n_features);
    many_distinct.push_back(many / facts.n_features);
    missing.push_back(holes / facts.n_features / facts.n_rows);

    if (facts.n_classes == 0) continue;
    std::map<float, int> sizes;
    for (const float label : batch.y_of(static_cast<std::int64_t>(k)).to_vector<float>()) {
      ++sizes[label];
    }
    const auto smaller = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end(), smaller);
    classes.push_back(static_cast<double>(sizes.size()));
    majority.push_back(static_cast<double>(most->second) / facts.n_rows);
    minority.push_back(static_cast<double>(least->second) / facts.n_rows);
    n_all_classes += static_cast<int>(sizes.size()) == facts.n_classes;
    if (facts.bayes_error > 0) bayes_error.push_back(facts.bayes_error);
  }
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double probability) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const double place = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

}  // namespace causeway::train
