// Split candidates of the forest on the CPU: one node and 16 features at a time, each with a random
// threshold and the score of splitting there.
#pragma once

#include "causeway/prior/device/tree_growth.h"

namespace causeway::prior {

// The score of a split from sums of the target: the weighted separation of the means.
CAUSEWAY_HOST_DEVICE float split_score(double left, double right, int n_left, int n_right) {
  return static_cast<float>(left / n_left + right / n_right);
}

// One random threshold per feature, and the range of its values, for kWide features of a node.
template <int kWide>
struct SplitCandidates {
  float low[kWide];
  float high[kWide];
  float threshold[kWide];
  double left[kWide];  // sums of squares, by side
  double right[kWide];
  std::int32_t n_left[kWide];
};

// Draws thresholds between the smallest and the largest value of each feature in entries begin ...
// end - 1.
template <int kWide, class W>
CAUSEWAY_HOST_DEVICE void draw_candidates(const W& w, const ForestData& data,
                                          const ForestTree& tree, std::uint32_t site,
                                          int node_in_tree, int first, int begin, int end,
                                          SplitCandidates<kWide>& to) {
  for (int k = 0; k < kWide; ++k) {
    to.low[k] = 3.4e38f;
    to.high[k] = -3.4e38f;
  }
  for (int i = begin; i < end; ++i) {
    const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
    for (int k = 0; k < kWide; ++k) {
      const float value = row[k];
      to.low[k] = value < to.low[k] ? value : to.low[k];
      to.high[k] = value > to.high[k] ? value : to.high[k];
    }
  }
  for (int k = 0; k < kWide; ++k) {
    const float u = w.draws.uniform(site, static_cast<std::uint32_t>(node_in_tree),
                                    static_cast<std::uint32_t>(first + k));
    to.threshold[k] = elementary::fma(u, to.high[k] - to.low[k], to.low[k]);
    if (to.threshold[k] >= to.high[k]) to.threshold[k] = to.low[k];
  }
  for (int k = 0; k < kWide; ++k) {
    to.left[k] = 0.0;
    to.right[k] = 0.0;
    to.n_left[k] = 0;
  }
}

// Sums the squared class counts on both sides of the candidates.
template <int kWide>
CAUSEWAY_HOST_DEVICE void count_classes(const ForestData& data, const ForestTree& tree,
                                        int first_cell, int n_groups, int first,
                                        SplitCandidates<kWide>& to) {
  for (int group = 0; group < n_groups; ++group) {
    std::int32_t inside[kWide] = {};
    const int from = begin_of(tree, first_cell + group);
    const int end = begin_of(tree, first_cell + group + 1);
    for (int i = from; i < end; ++i) {
      const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
      for (int k = 0; k < kWide; ++k) {
        inside[k] += row[k] <= to.threshold[k] ? 1 : 0;
      }
    }
    const int all = end - from;
    for (int k = 0; k < kWide; ++k) {
      const double l = inside[k];
      const double r = all - inside[k];
      to.left[k] += l * l;
      to.right[k] += r * r;
      to.n_left[k] += inside[k];
    }
  }
}

// Squares the sums of a numeric target on both sides of the candidates.
template <int kWide>
CAUSEWAY_HOST_DEVICE void sum_targets(const ForestData& data, const ForestTree& tree, int first,
                                      int begin, int end, SplitCandidates<kWide>& to) {
  std::int64_t sum[kWide] = {};
  std::int64_t total = 0;
  for (int i = begin; i < end; ++i) {
    const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
    const auto y = fixed_point_target(data.y[tree.rows[i]]);
    total += y;
    for (int k = 0; k < kWide; ++k) {
      const bool inside = row[k] <= to.threshold[k];
      sum[k] += inside ? y : 0;
      to.n_left[k] += inside ? 1 : 0;
    }
  }
  for (int k = 0; k < kWide; ++k) {
    const auto l = static_cast<double>(sum[k]);
    const auto r = static_cast<double>(total - sum[k]);
    to.left[k] = l * l;
    to.right[k] = r * r;
  }
}

// Candidates of one node: for each of kWide features a random threshold within its range, and its
// score, or -1 if all its values are equal.
template <int kWide, class W>
CAUSEWAY_HOST_DEVICE_CALL void score_features(const W& w, ForestData data, ForestTree tree,
                                              std::uint32_t site, int node_in_tree, int node,
                                              int n_groups, int bits, int first, int count) {
  const int first_cell = node << bits;
  const int begin = begin_of(tree, first_cell);
  const int end = begin_of(tree, first_cell + n_groups);
  const int n = end - begin;
  SplitCandidates<kWide> found;
  draw_candidates(w, data, tree, site, node_in_tree, first, begin, end, found);
  if (data.n_classes > 0) {
    count_classes(data, tree, first_cell, n_groups, first, found);
  } else {
    sum_targets(data, tree, first, begin, end, found);
  }
  for (int k = 0; k < kWide && k < count; ++k) {
    const int n_left = found.n_left[k];
    const bool splits = n_left > 0 && n_left < n && found.high[k] - found.low[k] > 1e-7f;
    tree.best[node * data.n_features + first + k] =
        splits ? split_score(found.left[k], found.right[k], n_left, n - n_left) : -1.0f;
    tree.candidate[node * data.n_features + first + k] = found.threshold[k];
  }
}

}  // namespace causeway::prior
