// Post-processing of columns: clamp outliers, standardise, clip.
#pragma once

#include "causeway/prior/device/columns.h"

namespace causeway::prior {

// Mean and scale of a column before standardisation.
struct Affine {
  float mean;
  float deviation;
  float low;  // values beyond [low, high] were clamped
  float high;
};

// Mean and sample standard deviation (at least 1e-6) of the values of a column within [low, high].
template <class Lanes>
CAUSEWAY_HOST_DEVICE Affine spread_within(const Lanes& lanes, const float* column, int n, float low,
                                          float high) {
  const auto inside = [&](float x) { return x >= low && x <= high; };
  const float count = lanes.sum(n, [&](int i) { return inside(column[i]) ? 1.0f : 0.0f; });
  const float total = lanes.sum(n, [&](int i) { return inside(column[i]) ? column[i] : 0.0f; });
  const float mean = total / at_least(count, 1.0f);
  const float squares = lanes.sum(n, [&](int i) {
    const float distance = inside(column[i]) ? column[i] - mean : 0.0f;
    return distance * distance;
  });
  const float variance = squares / at_least(count - 1.0f, 1.0f);
  return {mean, at_least(elementary::square_root(variance), 1e-6f), low, high};
}

// Clamps values beyond four deviations, in two passes; the second uses the values within the first
// bounds.
template <class W, class Lanes>
CAUSEWAY_HOST_DEVICE Affine clamp_outliers(const W& w, const Lanes& lanes, float* column) {
  constexpr float kFar = 3.4e38f;
  const Affine all = spread_within(lanes, column, w.n_fit, -kFar, kFar);
  const float cut = 4.0f * all.deviation;
  const Affine most = spread_within(lanes, column, w.n_fit, all.mean - cut, all.mean + cut);
  const float low = most.mean - 4.0f * most.deviation;
  const float high = most.mean + 4.0f * most.deviation;
  lanes.each(w.row_end(), [&](int i) { column[i] = clamped(column[i], low, high); });
  return {most.mean, most.deviation, low, high};
}

// Returns the mean and the deviation that the column had.
template <class W, class Lanes>
CAUSEWAY_HOST_DEVICE Affine standardise_column(const W& w, const Lanes& lanes, float* column) {
  const Affine spread = spread_within(lanes, column, w.n_fit, -3.4e38f, 3.4e38f);
  lanes.each(w.row_end(), [&](int i) {
    column[i] = clamped((column[i] - spread.mean) / spread.deviation, -100.0f, 100.0f);
  });
  return spread;
}

template <class W, class Lanes>
CAUSEWAY_HOST_DEVICE Affine tidy_column(const W& w, const Lanes& lanes, float* column) {
  const Affine cut = clamp_outliers(w, lanes, column);
  lanes.sync();
  Affine spread = standardise_column(w, lanes, column);
  spread.low = cut.low;
  spread.high = cut.high;
  return spread;
}

}  // namespace causeway::prior
