// The bins of a numeric target. The model predicts probabilities of bins of the standardised
// target. Ensemble members can read a transformed target; their bins are mapped back to the target,
// and the bins of several transforms are divided at the edges of all of them.
#pragma once

#include "causeway/models/column_transform.h"
#include "causeway/models/target_distribution.h"

#include <map>
#include <span>
#include <vector>

namespace causeway::models {

class TargetBins {
 public:
  // The model's bins: the borders between them and the mean of each, of a standardised target.
  struct OfModel {
    std::vector<double> borders;
    std::vector<double> centres;
  };

  TargetBins() = default;
  // `y` has the targets of the context rows; `transforms` are `none` and `power`. Members read a
  // constant target without a transform.
  TargetBins(const OfModel& of_model, std::span<const double> y,
             std::span<const Transform> transforms);

  // Of the distributions that `join` makes, ascending, in units of the target.
  const std::vector<double>& edges() const { return edges_; }
  // The transforms that occur.
  std::vector<Transform> transforms() const;
  // A target as members with this transform read it.
  double read(Transform transform, double y) const { return views_.at(transform).transform(y); }
  // The mean of each of the model's bins, in units of the target.
  const std::vector<double>& centres(Transform transform) const {
    return views_.at(transform).centres;
  }
  // The mean of a histogram over the model's bins.
  double mean(Transform transform, const double* of_bins) const;

  // Probabilities (rows, model's bins) f64 of the members with one transform, and their weight.
  struct Part {
    Transform transform;
    Tensor probabilities;
    double weight;
  };
  // The weighted average of the parts, whose weights sum to 1.
  TargetDistribution join(const std::vector<Part>& parts) const;

 private:
  // The model's bins as members with one transform see them.
  struct View {
    ColumnTransform transform;
    std::vector<double> ends;     // of the bins of the transformed target
    std::vector<double> edges;    // of the bins, in units of the target
    std::vector<double> centres;  // in units of the target
    // Bin b lies in the bins from first[b] of the joined distribution, shares[b] of it in each. The
    // density within a bin is constant for the transformed target.
    std::vector<std::size_t> first = {};
    std::vector<std::vector<double>> shares = {};
  };
  static View view_of(Transform transform, const OfModel& of_model, std::span<const double> y);
  void divide(View& view) const;

  std::vector<double> edges_;
  std::map<Transform, View> views_;
};

}  // namespace causeway::models
