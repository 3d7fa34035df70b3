// The bins of a numeric target. The model predicts probabilities of bins of the standardised
// target. Ensemble members can read a transformed target; their bins are mapped back to the target,
// and the bins of several transforms are divided at the edges of all of them. Members that read the
// residuals of a linear fit predict a distribution around the fit's prediction for each row.
#pragma once

#include "causeway/models/column_transform.h"
#include "causeway/models/target_distribution.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace causeway::models {

// What an ensemble member reads instead of a numeric target.
enum class TargetTransform {
  none,      // the target
  power,     // a power of it: see Transform
  residual,  // what a linear fit to the other rows leaves: see ridge.h
};

const char* to_string(TargetTransform transform);
// Throws invalid_argument and lists the names.
TargetTransform parse_target_transform(const std::string& name);

class TargetBins {
 public:
  // The model's bins: the borders between them and the mean of each, of a standardised target.
  struct OfModel {
    std::vector<double> borders;
    std::vector<double> centres;
  };

  TargetBins() = default;
  // `y` has the targets of the context rows and `residuals` the residuals of the linear fit, if
  // there is one. Members read a constant target without a transform.
  TargetBins(const OfModel& of_model, std::span<const double> y, std::span<const double> residuals,
             std::span<const TargetTransform> transforms);

  // Of the distributions that `join` makes, ascending, in units of the target.
  const std::vector<double>& edges() const { return edges_; }
  // The transforms that occur.
  std::vector<TargetTransform> transforms() const;
  // A target, or a residual, as members with this transform read it.
  double read(TargetTransform transform, double y) const {
    return views_.at(transform).transform(y);
  }
  // The mean of each of the model's bins, in units of the target; of residuals relative to the
  // linear fit's prediction.
  const std::vector<double>& centres(TargetTransform transform) const {
    return views_.at(transform).centres;
  }
  // The mean of a histogram over the model's bins. `fit` is the linear fit's prediction for the
  // row; targets around it are clipped to edges().
  double mean(TargetTransform transform, const double* of_bins, double fit) const;

  // Probabilities (rows, model's bins) f64 of the members with one transform, and their weight. The
  // distribution of residuals moves so that its mean is multiplied by `kept`.
  struct Part {
    TargetTransform transform;
    Tensor probabilities;
    double weight;
    double kept = 1;
  };
  // The weighted average of the parts, whose weights sum to 1. `fit` has the linear fit's
  // prediction for each row, if there is one.
  TargetDistribution join(const std::vector<Part>& parts, std::span<const double> fit) const;

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
  // Adds the model's bins to the joined ones.
  void add(const View& view, const double* from, double weight, double* to) const;
  void add_around(const View& view, double fit, const double* from, double weight,
                  double* to) const;

  std::vector<double> edges_;
  std::map<TargetTransform, View> views_;
};

}  // namespace causeway::models
