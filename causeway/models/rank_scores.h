// Normal scores of ranks. Members read columns as such scores where f32 cannot keep the
// standardised values apart: next to 1e10 all ordinary numbers are one.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace causeway::models {

// The score of a value by linear interpolation between those of at most 256 context values.
class RankScores {
 public:
  RankScores() = default;
  // Values that are not finite are ignored; there has to be another one.
  explicit RankScores(std::span<const double> values);

  // That of the least or greatest value for those beyond; NaN stays NaN.
  double operator()(double value) const;

  const std::vector<double>& points() const { return points_; }  // ascending
  const std::vector<double>& scores() const { return scores_; }

 private:
  std::vector<double> points_;
  std::vector<double> scores_;
};

// By position, the columns of the context rows x (rows, columns) f64 that have to be ranked.
using RankedColumns = std::map<std::int64_t, RankScores>;
RankedColumns rank_columns(const Tensor& x);

// x with the scores of those columns instead of their values; x itself if there are none.
Tensor with_ranks(const Tensor& x, const RankedColumns& ranked);

}  // namespace causeway::models
