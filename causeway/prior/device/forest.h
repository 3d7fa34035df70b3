// Whether a target can be told from the features: an ensemble of extremely randomised trees (Geurts
// et al. 2006) of depth 6 on bootstrap samples, judged on the rows each left out. All that is added
// up over rows is an integer, so the order of rows does not matter.
#pragma once

#include "causeway/prior/device/split.h"

namespace causeway::prior {

inline constexpr int kForestTrees = 25;

struct ForestScore {
  float improvement;  // of the squared error over the mean's, a row
  float error_of_improvement;
  float squared_error;
  float squared_error_of_mean;
};

// The class of a row; all numbers are one group.
CAUSEWAY_HOST_DEVICE int group_of(const ForestData& data, int row) {
  return data.n_classes > 0 ? static_cast<int>(data.y[row]) : 0;
}

// Draws a bootstrap sample, grouped by class.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_sample(const W& w, const ForestData& data,
                                           const ForestTree& tree, std::uint32_t site, int n_groups,
                                           std::int32_t* in_bag) {
  for_each(w.team, data.n_rows, [&](int i) { in_bag[i] = 0; });
  for_each(w.team, n_groups, [&](int group) { tree.cursor[group] = 0; });
  w.team.sync();
  for_each(w.team, data.n_rows, [&](int i) {
    const int row = bounded(w.draws.bits(site, static_cast<std::uint32_t>(i)).word[0], data.n_rows);
    tree.moved[i] = row;
    w.team.add(&in_bag[row], 1);
    w.team.add(&tree.cursor[group_of(data, row)], 1);
  });
  w.team.sync();
  w.team.add_before(tree.cursor, n_groups);
  w.team.sync();
  for_each(w.team, n_groups, [&](int group) { tree.begin[group] = tree.cursor[group]; });
  if (w.team.rank() == 0) tree.begin[n_groups] = data.n_rows;
  w.team.sync();
  for_each(w.team, data.n_rows, [&](int i) {
    const int row = tree.moved[i];
    const int group = group_of(data, row);
    const int place = w.team.add(&tree.cursor[group], 1);
    tree.rows[place] = row;
    tree.cell[place] = group;
  });
  w.team.sync();
}

// Splits the nodes of a level at their best candidates and moves their rows apart.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void split_level(const W& w, const ForestData& data,
                                           const ForestTree& tree, int level, int n_groups) {
  const int n_nodes = 1 << level;
  const int first_node = n_nodes - 1;
  w.team.columns(n_nodes, [&](int node, const auto& lanes) {
    const float* scores = tree.best + node * data.n_features;
    const int feature = lanes.place_of_greatest(data.n_features, [&](int f) { return scores[f]; });
    lanes.each(1, [&](int) {
      tree.split[first_node + node] = feature;
      tree.threshold[first_node + node] =
          feature >= 0 ? tree.candidate[node * data.n_features + feature] : 0.0f;
    });
  });
  for_each(w.team, 2 * n_nodes * n_groups, [&](int i) { tree.cursor[i] = 0; });
  w.team.sync();
  const auto side_of = [&](int node, int row) {
    const int feature = tree.split[first_node + node];
    if (feature < 0) return 0;
    const float value = data.x[static_cast<std::int64_t>(row) * data.row_stride + feature];
    return value <= tree.threshold[first_node + node] ? 0 : 1;
  };
  const auto for_entries = [&](const auto& f) {
    for_each(w.team, data.n_rows, [&](int i) {
      const int node = tree.cell[i] / n_groups;
      const int row = tree.rows[i];
      f(row, (2 * node + side_of(node, row)) * n_groups + tree.cell[i] % n_groups);
    });
  };
  for_entries([&](int, int cell) { w.team.add(&tree.cursor[cell], 1); });
  w.team.sync();
  w.team.add_before(tree.cursor, 2 * n_nodes * n_groups);
  w.team.sync();
  for_entries([&](int row, int cell) {
    const int place = w.team.add(&tree.cursor[cell], 1);
    tree.moved[place] = row;
    tree.moved_cell[place] = cell;
  });
  w.team.sync();
  // A cell's cursor now stands at its end, which is where the next begins.
  for_each(w.team, 2 * n_nodes * n_groups, [&](int i) { tree.begin[i + 1] = tree.cursor[i]; });
  for_each(w.team, data.n_rows, [&](int i) {
    tree.rows[i] = tree.moved[i];
    tree.cell[i] = tree.moved_cell[i];
  });
  w.team.sync();
}

// Adds what the tree says of the rows it has not seen.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void predict_unseen(const W& w, const ForestData& data,
                                              const ForestTree& tree, int n_groups,
                                              const std::int32_t* in_bag, const float* leaf,
                                              float* sums, float* counts) {
  for_each(w.team, data.n_rows, [&](int row) {
    if (in_bag[row] != 0) return;
    const float* x = data.x + static_cast<std::int64_t>(row) * data.row_stride;
    int node = 0;
    for (int level = 0; level < kForestDepth; ++level) {
      const int feature = tree.split[node];
      const bool right = feature >= 0 && x[feature] > tree.threshold[node];
      node = 2 * node + (right ? 2 : 1);
    }
    const float* of = leaf + (node - (kForestLeaves - 1)) * n_groups;
    for (int group = 0; group < n_groups; ++group) sums[row * n_groups + group] += of[group];
    counts[row] += 1.0f;
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL ForestScore score_rows(const W& w, const ForestData& data, int n_groups,
                                                 const float* sums, const float* counts,
                                                 float* gains, float* scratch) {
  // scratch: the target's means, then the sums of four columns of numbers.
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
      const float said = seen > 0.0f ? sums[row * n_groups + group] / seen : means[group];
      by_mean = elementary::fma(y - means[group], y - means[group], by_mean);
      by_trees = elementary::fma(y - said, y - said, by_trees);
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

// Grows the ensemble and judges it.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL ForestScore grow_forest(W& w, const ForestData& data) {
  constexpr int kWide = W::Team::kRows == 1 ? 1 : kFeaturePadding;  // a CPU's vectors
  const int n_groups = data.n_classes > 0 ? data.n_classes : 1;
  const Scratch scratch(w.arena);
  const auto take = [&](std::int64_t count) {
    return reinterpret_cast<std::int32_t*>(w.arena.take(count));
  };
  const std::int64_t n_pairs = static_cast<std::int64_t>(kForestLeaves / 2) * data.n_features;
  const ForestTree tree{take(data.n_rows),
                        take(data.n_rows),
                        take(kForestLeaves * n_groups + 1),
                        take(kForestLeaves * n_groups),
                        take(kForestLeaves),
                        w.arena.take(kForestLeaves),
                        w.arena.take(n_pairs),
                        w.arena.take(n_pairs),
                        take(data.n_rows),
                        take(data.n_rows),
                        reinterpret_cast<std::uint32_t*>(w.arena.take(2 * n_pairs)),
                        take(n_pairs * below_words(data.n_classes) + kForestLeaves)};
  std::int32_t* in_bag = take(data.n_rows);
  float* leaf = w.arena.take(kForestLeaves * n_groups);
  float* sums = w.arena.take(static_cast<std::int64_t>(data.n_rows) * n_groups);
  float* counts = w.arena.take(data.n_rows);
  float* gains = w.arena.take(2 * static_cast<std::int64_t>(data.n_rows));
  float* totals = w.arena.take(n_groups + 4);
  const std::uint32_t first_site = w.site;
  w.site += 2 * kForestTrees;
  if (w.arena.failed) return {};
  for_each(w.team, data.n_rows * n_groups, [&](int i) { sums[i] = 0.0f; });
  for_each(w.team, data.n_rows, [&](int i) { counts[i] = 0.0f; });
  const int n_blocks = (data.n_features + kWide - 1) / kWide;
  for (int k = 0; k < kForestTrees; ++k) {
    const std::uint32_t site = first_site + 2 * static_cast<std::uint32_t>(k);
    draw_sample(w, data, tree, site, n_groups, in_bag);
    for (int level = 0; level < kForestDepth; ++level) {
      const int n_nodes = 1 << level;
      if constexpr (W::Team::kRows == 1) {
        judge_by_many(w, data, tree, site + 1, level, n_groups);
      } else {
        for_each(w.team, n_nodes * n_blocks, [&](int at) {
          const int node = at / n_blocks;
          const int first = at % n_blocks * kWide;
          const int count = data.n_features - first < kWide ? data.n_features - first : kWide;
          judge_features<kWide>(w, data, tree, site + 1, n_nodes - 1 + node, node, n_groups, first,
                                count);
        });
      }
      split_level(w, data, tree, level, n_groups);
    }
    for_each(w.team, kForestLeaves, [&](int at) {
      const std::int32_t* begin = tree.begin + at * n_groups;
      const int n = begin[n_groups] - begin[0];
      if (data.n_classes > 0) {
        for (int group = 0; group < n_groups; ++group) {
          leaf[at * n_groups + group] =
              n > 0 ? static_cast<float>(begin[group + 1] - begin[group]) / static_cast<float>(n)
                    : 0.0f;
        }
        return;
      }
      std::int64_t sum = 0;
      for (int i = begin[0]; i < begin[1]; ++i) {
        sum += whole_target(data.y[tree.rows[i]]);
      }
      leaf[at] = n > 0 ? static_cast<float>(static_cast<double>(sum) / n) / kTargetScale : 0.0f;
    });
    w.team.sync();
    predict_unseen(w, data, tree, n_groups, in_bag, leaf, sums, counts);
  }
  return score_rows(w, data, n_groups, sums, counts, gains, totals);
}

// Better than the mean beyond doubt: at most 5% of bootstrapped mean improvements would be below
// 0. The mean of so many rows is as good as normal, so that its quantile needs no resampling.
CAUSEWAY_HOST_DEVICE bool is_predictable(const ForestScore& score) {
  return score.improvement > 1.64485363f * score.error_of_improvement;
}

// The root mean square error is at most `share` of the mean's.
CAUSEWAY_HOST_DEVICE bool is_trivial(const ForestScore& score, float share) {
  return score.squared_error <= share * share * score.squared_error_of_mean;
}

}  // namespace causeway::prior
