#include "causeway/models/rank_scores.h"

#include "causeway/models/column_transform.h"
#include "causeway/models/normal.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace causeway::models {

namespace {

constexpr std::size_t kMostPoints = 256;
constexpr std::size_t kMostCompared = 512;  // values of a column
constexpr double kFewestDistinct = 0.9;     // of the values that differ, that differ as f32
constexpr double kRounding = 8e-15;         // a range relative to the values that is rounding

// Whether many of the values are equal when they are standardised and rounded to f32.
bool needs_ranks(std::span<const double> values) {
  const ColumnTransform standardised(Transform::none, values);
  const std::size_t step = (values.size() + kMostCompared - 1) / kMostCompared;
  std::set<double> given;
  std::set<float> read;
  for (std::size_t i = 0; i < values.size(); i += step) {
    if (!std::isfinite(values[i])) continue;
    given.insert(values[i]);
    read.insert(static_cast<float>(standardised(values[i])));
  }
  if (static_cast<double>(read.size()) >= kFewestDistinct * static_cast<double>(given.size())) {
    return false;
  }
  const double least = *given.begin();
  const double greatest = *given.rbegin();
  return greatest - least > kRounding * std::max(std::fabs(least), std::fabs(greatest));
}

}  // namespace

RankScores::RankScores(std::span<const double> values) {
  std::vector<double> sorted;
  for (const double value : values) {
    if (std::isfinite(value)) sorted.push_back(value);
  }
  std::sort(sorted.begin(), sorted.end());
  const std::size_t step = (sorted.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < sorted.size(); i += step) {
    if (!points_.empty() && points_.back() == sorted[i]) continue;
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), sorted[i]);
    const auto middle = static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) / 2;
    points_.push_back(sorted[i]);
    scores_.push_back(normal_quantile(middle / static_cast<double>(sorted.size())));
  }
}

double RankScores::operator()(double value) const {
  if (std::isnan(value)) return value;
  const auto above = std::upper_bound(points_.begin(), points_.end(), value);
  if (above == points_.begin()) return scores_.front();
  if (above == points_.end()) return scores_.back();
  const auto i = static_cast<std::size_t>(above - points_.begin());
  const double share = (value - points_[i - 1]) / (points_[i] - points_[i - 1]);
  return scores_[i - 1] + share * (scores_[i] - scores_[i - 1]);
}

RankedColumns rank_columns(const Tensor& x) {
  RankedColumns ranked;
  for (std::int64_t position = 0; position < x.size(1); ++position) {
    const std::vector<double> values = column_values(x, position);
    if (needs_ranks(values)) ranked.emplace(position, RankScores(values));
  }
  return ranked;
}

Tensor with_ranks(const Tensor& x, const RankedColumns& ranked) {
  if (ranked.empty()) return x;
  const Tensor made = x.contiguous().clone();
  for (const auto& [position, scores] : ranked) {
    double* cell = made.data_as<double>() + position;
    for (std::int64_t row = 0; row < made.size(0); ++row, cell += made.size(1)) {
      *cell = scores(*cell);
    }
  }
  return made;
}

}  // namespace causeway::models
