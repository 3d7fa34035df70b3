// Tests whether a target is predictable from the features: an ensemble of extremely randomised
// trees (Geurts et al. 2006) of depth 6 on bootstrap samples, scored on out-of-bag rows. All sums
// over rows are integers, so the order of rows does not matter.
#pragma once

#include "causeway/prior/device/split.h"

namespace causeway::prior {

inline constexpr int kForestTrees = 25;

struct ForestScore {
  float improvement;  // of the squared error per row over predicting the mean
  float error_of_improvement;
  float squared_error;
  float squared_error_of_mean;
};

// Memory of the trees, and their random site.
struct Forest {
  ForestData data;
  float* memory;
  std::int64_t each;  // floats per tree
  std::uint32_t first_site;
  int n_groups;
  int bits;

  CAUSEWAY_HOST_DEVICE ForestTree tree(int k, int level) const {
    return ForestTree(memory + k * each, data, n_groups, bits, level);
  }
  CAUSEWAY_HOST_DEVICE std::uint32_t sample_site(int k) const {
    return first_site + 2 * static_cast<std::uint32_t>(k);
  }
  CAUSEWAY_HOST_DEVICE std::uint32_t split_site(int k) const { return sample_site(k) + 1; }
};

// One CPU thread: one tree after the other.
template <class W>
CAUSEWAY_HOST_DEVICE void grow_trees_serial(const W& w, const Forest& forest) {
  const ForestData data = forest.data;
  w.team.columns(kForestTrees, [&](int k, const auto& lanes) {
    sample_rows(w, lanes, data, forest.tree(k, 0), forest.sample_site(k), forest.bits);
    for (int level = 0; level < kForestDepth; ++level) {
      const ForestTree tree = forest.tree(k, level);
      for (int node = 0; node < 1 << level; ++node) {
        for (int feature = 0; feature < data.n_features; feature += kFeaturePadding) {
          const int left = data.n_features - feature;
          score_features<kFeaturePadding>(
              w, data, tree, forest.split_site(k), (1 << level) - 1 + node, node, forest.n_groups,
              forest.bits, feature, left < kFeaturePadding ? left : kFeaturePadding);
        }
      }
      split_nodes(lanes, data, tree, level, forest.bits);
    }
    fill_leaves(w, lanes, data, forest.tree(k, kForestDepth), forest.n_groups, forest.bits);
  });
}

// How many parts to cut each of n_units into, at most n_nodes, so that n_threads finish soonest.
// More parts must save a fifth, since each has a fixed cost.
CAUSEWAY_HOST_DEVICE int parts_of(int n_units, int n_nodes, int n_threads) {
  constexpr int kMost = 8;
  const auto rounds = [&](int n_parts) { return (n_units * n_parts + n_threads - 1) / n_threads; };
  int best = 1;
  for (int n_parts = 2; n_parts <= kMost && n_parts <= n_nodes; ++n_parts) {
    if (5 * rounds(n_parts) * best < 4 * rounds(best) * n_parts) best = n_parts;
  }
  return best;
}

// GPU: all trees grow level by level. Threads share the features of all trees; with few features
// each also takes a part of the nodes. The entries of a tree are always moved by the same 32 lanes.
template <class W>
CAUSEWAY_HOST_DEVICE void grow_trees_parallel(const W& w, const Forest& forest) {
  const ForestData data = forest.data;
  const int bits = forest.bits;
  w.team.columns(kForestTrees, [&](int k, const auto& lanes) {
    sample_rows(w, lanes, data, forest.tree(k, 0), forest.sample_site(k), bits);
  });
  for (int level = 0; level < kForestDepth; ++level) {
    w.team.sync();
    const int n_parts = parts_of(kForestTrees * data.n_features, 1 << level, w.team.size());
    for_each(w.team, kForestTrees * n_parts * data.n_features, [&](int at) {
      const int unit = at / data.n_features;
      const int feature = at - unit * data.n_features;
      const int k = unit / n_parts;
      const ForestTree tree = forest.tree(k, level);
      const NodeRange range = range_of(data, tree, level, bits, unit - k * n_parts, n_parts);
      draw_thresholds(w, data, tree, forest.split_site(k), level, bits, feature, range);
      if (data.n_classes > 0)
        score_classes(w, data, tree, bits, feature, range);
      else
        score_numbers(w, data, tree, bits, feature, range);
    });
    w.team.sync();
    w.team.columns(kForestTrees, [&](int k, const auto& lanes) {
      split_nodes(lanes, data, forest.tree(k, level), level, bits);
    });
  }
  w.team.columns(kForestTrees, [&](int k, const auto& lanes) {
    fill_leaves(w, lanes, data, forest.tree(k, kForestDepth), forest.n_groups, bits);
  });
}

// Adds a tree's prediction for a row.
CAUSEWAY_HOST_DEVICE void add_prediction(ForestData data, const ForestTree& tree, int n_groups,
                                         int row, float* sums, float* counts) {
  const float* x = data.x + static_cast<std::int64_t>(row) * data.row_stride;
  int node = 0;
  for (int level = 0; level < kForestDepth; ++level) {
    const int feature = tree.split[node];
    const bool right = feature >= 0 && x[feature] > tree.threshold[node];
    node = 2 * node + (right ? 2 : 1);
  }
  const float* of = tree.leaf + (node - (kForestLeaves - 1)) * n_groups;
  for (int group = 0; group < n_groups; ++group) sums[row * n_groups + group] += of[group];
  counts[row] += 1.0f;
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL ForestScore score_rows(const W& w, ForestData data, int n_groups,
                                                 const float* sums, const float* counts,
                                                 float* gains, float* scratch) {
  // scratch: the target's means, then the sums of four columns of values.
  float* means = scratch;
  float* totals = scratch + n_groups;
  w.team.columns(n_groups, [&](int group, const auto& lanes) {
    const float sum = lanes.sum(data.n_rows, [&](int row) {
      if (data.n_classes == 0) return data.y[row];
      return static_cast<int>(data.y[row]) == group ? 1.0f : 0.0f;
    });
    lanes.each(1, [&](int) { means[group] = sum / static_cast<float>(data.n_rows); });
  });
  w.team.sync();
  for_each(w.team, data.n_rows, [&](int row) {
    float by_mean = 0.0f;
    float by_trees = 0.0f;
    for (int group = 0; group < n_groups; ++group) {
      const float y = data.n_classes == 0 ? data.y[row]
                                          : (static_cast<int>(data.y[row]) == group ? 1.0f : 0.0f);
      const float seen = counts[row];
      const float predicted = seen > 0.0f ? sums[row * n_groups + group] / seen : means[group];
      by_mean = elementary::fma(y - means[group], y - means[group], by_mean);
      by_trees = elementary::fma(y - predicted, y - predicted, by_trees);
    }
    gains[row] = by_mean;
    gains[data.n_rows + row] = by_trees;
  });
  w.team.sync();
  const auto n = static_cast<float>(data.n_rows);
  w.team.columns(1, [&](int, const auto& lanes) {
    const float mean = lanes.sum(data.n_rows, [&](int i) { return gains[i]; }) / n;
    const float trees = lanes.sum(data.n_rows, [&](int i) { return gains[data.n_rows + i]; }) / n;
    const float gain = mean - trees;
    const float squares = lanes.sum(data.n_rows, [&](int i) {
      const float distance = gains[i] - gains[data.n_rows + i] - gain;
      return distance * distance;
    });
    lanes.each(1, [&](int) {
      totals[0] = gain;
      totals[1] = elementary::square_root(squares / n) / elementary::square_root(n);
      totals[2] = trees;
      totals[3] = mean;
    });
  });
  w.team.sync();
  return {totals[0], totals[1], totals[2], totals[3]};
}

// Grows the ensemble and scores it.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL ForestScore grow_forest(W& w, ForestData data) {
  const int n_groups = data.n_classes > 0 ? data.n_classes : 1;
  int bits = 0;
  while (1 << bits < n_groups) ++bits;
  const Scratch scratch(w.arena);
  const std::int64_t each = ForestTree::floats(data, n_groups, bits);
  float* memory = w.arena.take(kForestTrees * each);
  float* sums = w.arena.take(static_cast<std::int64_t>(data.n_rows) * n_groups);
  float* counts = w.arena.take(data.n_rows);
  float* gains = w.arena.take(2 * static_cast<std::int64_t>(data.n_rows));
  float* totals = w.arena.take(n_groups + 4);
  const std::uint32_t first_site = w.site;
  w.site += 2 * kForestTrees;
  if (w.arena.failed) return {};
  for_each(w.team, data.n_rows * n_groups, [&](int i) { sums[i] = 0.0f; });
  for_each(w.team, data.n_rows, [&](int i) { counts[i] = 0.0f; });
  const Forest forest{data, memory, each, first_site, n_groups, bits};
  if constexpr (W::Team::kRows > 1)
    grow_trees_serial(w, forest);
  else
    grow_trees_parallel(w, forest);
  w.team.sync();
  for_each(w.team, data.n_rows, [&](int row) {
    for (int k = 0; k < kForestTrees; ++k) {
      const ForestTree tree = forest.tree(k, kForestDepth);
      if (tree.seen[row] == 0) add_prediction(data, tree, n_groups, row, sums, counts);
    }
  });
  w.team.sync();
  return score_rows(w, data, n_groups, sums, counts, gains, totals);
}

// Significantly better than the mean: at most 5% of bootstrapped mean improvements would be
// negative. With this many rows the mean is close to normal, so its quantile needs no resampling.
CAUSEWAY_HOST_DEVICE bool is_predictable(const ForestScore& score) {
  return score.improvement > 1.64485363f * score.error_of_improvement;
}

// The RMSE is at most `share` of the RMSE of predicting the mean.
CAUSEWAY_HOST_DEVICE bool is_trivial(const ForestScore& score, float share) {
  return score.squared_error <= share * share * score.squared_error_of_mean;
}

}  // namespace causeway::prior
