// How the trees of forest.h look for splits: for every node and feature a random threshold, and how
// far apart it takes the target's halves. One thread of the CPU takes 16 features at a time; a team
// of many a warp a node, or, on the first levels, all threads every node.
#pragma once

#include "causeway/prior/device/workspace.h"

namespace causeway::prior {

inline constexpr int kForestDepth = 6;
inline constexpr int kForestLeaves = 1 << kForestDepth;
inline constexpr float kTargetScale = 4096.0f;  // of a numeric target as integers

// Rows of features, row-major, each with room for a multiple of kFeaturePadding, and a target:
// classes 0 ... n_classes - 1, or numbers.
inline constexpr int kFeaturePadding = 16;

struct ForestData {
  const float* x;
  const float* y;
  int n_rows;
  int n_features;
  int row_stride;
  int n_classes;  // 0 for numbers
};

// One tree as it grows: node k of a level has the entries begin[k * groups] to begin[(k + 1) *
// groups] of `rows`, grouped by class.
struct ForestTree {
  std::int32_t* rows;
  std::int32_t* moved;
  std::int32_t* begin;   // (nodes of a level * groups + 1)
  std::int32_t* cursor;  // (2 * nodes of a level * groups)
  std::int32_t* split;   // feature of each inner node, in heap order; -1 for none
  float* threshold;
  float* best;       // a level's (nodes, features) scores
  float* candidate;  // and thresholds
  // The cell (node, group) of each entry; and, for a team of many, the ends of every (node,
  // feature), and how much of each (node, feature, group) lies below the threshold.
  std::int32_t* cell;
  std::int32_t* moved_cell;
  std::uint32_t* ends;
  std::int32_t* below;
};

// Words of `below` for each (node, feature): a count a class, or a count and a sum of 64 bits.
CAUSEWAY_HOST_DEVICE int below_words(int n_classes) { return n_classes > 0 ? n_classes : 4; }

// The score of a split into sums of the target: how far apart the halves' means are, weighed.
CAUSEWAY_HOST_DEVICE float split_score(double left, double right, int n_left, int n_right) {
  return static_cast<float>(left / n_left + right / n_right);
}

// The target as an integer.
CAUSEWAY_HOST_DEVICE std::int64_t whole_target(float y) {
  return static_cast<std::int64_t>(y * kTargetScale);
}

// Candidates of one node: for each of kWide features a random threshold between its ends, and its
// score, or -1 where all its values are the same.
template <int kWide, class W>
CAUSEWAY_HOST_DEVICE_CALL void judge_features(const W& w, const ForestData& data,
                                              const ForestTree& tree, std::uint32_t site,
                                              int node_in_tree, int node, int n_groups, int first,
                                              int count) {
  const std::int32_t* begin = tree.begin + node * n_groups;
  const int end = begin[n_groups];
  const int n = end - begin[0];
  float low[kWide];
  float high[kWide];
  for (int k = 0; k < kWide; ++k) {
    low[k] = 3.4e38f;
    high[k] = -3.4e38f;
  }
  for (int i = begin[0]; i < end; ++i) {
    const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
    for (int k = 0; k < kWide; ++k) {
      const float value = row[k];
      low[k] = value < low[k] ? value : low[k];
      high[k] = value > high[k] ? value : high[k];
    }
  }
  float threshold[kWide];
  for (int k = 0; k < kWide; ++k) {
    const float u = w.draws.uniform(site, static_cast<std::uint32_t>(node_in_tree),
                                    static_cast<std::uint32_t>(first + k));
    threshold[k] = elementary::fma(u, high[k] - low[k], low[k]);
    if (threshold[k] >= high[k]) threshold[k] = low[k];
  }
  double left[kWide];
  double right[kWide];
  std::int32_t n_left[kWide];
  for (int k = 0; k < kWide; ++k) {
    left[k] = 0.0;
    right[k] = 0.0;
    n_left[k] = 0;
  }
  if (data.n_classes > 0) {
    for (int group = 0; group < n_groups; ++group) {
      std::int32_t inside[kWide] = {};
      for (int i = begin[group]; i < begin[group + 1]; ++i) {
        const float* row =
            data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
        for (int k = 0; k < kWide; ++k) {
          inside[k] += row[k] <= threshold[k] ? 1 : 0;
        }
      }
      const int all = begin[group + 1] - begin[group];
      for (int k = 0; k < kWide; ++k) {
        const double l = inside[k];
        const double r = all - inside[k];
        left[k] += l * l;
        right[k] += r * r;
        n_left[k] += inside[k];
      }
    }
  } else {
    std::int64_t sum[kWide] = {};
    std::int64_t total = 0;
    for (int i = begin[0]; i < end; ++i) {
      const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + first;
      const auto y = whole_target(data.y[tree.rows[i]]);
      total += y;
      for (int k = 0; k < kWide; ++k) {
        const bool inside = row[k] <= threshold[k];
        sum[k] += inside ? y : 0;
        n_left[k] += inside ? 1 : 0;
      }
    }
    for (int k = 0; k < kWide; ++k) {
      const auto l = static_cast<double>(sum[k]);
      const auto r = static_cast<double>(total - sum[k]);
      left[k] = l * l;
      right[k] = r * r;
    }
  }
  for (int k = 0; k < kWide && k < count; ++k) {
    const bool splits = n_left[k] > 0 && n_left[k] < n && high[k] - low[k] > 1e-7f;
    tree.best[node * data.n_features + first + k] =
        splits ? split_score(left[k], right[k], n_left[k], n - n_left[k]) : -1.0f;
    tree.candidate[node * data.n_features + first + k] = threshold[k];
  }
}

// f(feature, first entry, last entry) for pieces of a level's entries: a warp takes 32 of them and
// up to 32 features, a lane one feature and all or a share of the entries.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void for_pieces(const W& w, const ForestData& data, const F& f) {
  int wide = kLanes;
  while (wide / 2 >= data.n_features) wide /= 2;
  const int share = kLanes / (kLanes / wide);  // entries of a lane
  const int n_blocks = (data.n_features + kLanes - 1) / kLanes;
  const int n_chunks = (data.n_rows + kLanes - 1) / kLanes;
  w.team.columns(n_chunks * n_blocks, [&](int at, const auto& lanes) {
    const int first_entry = at / n_blocks * kLanes;
    const int first_feature = at % n_blocks * kLanes;
    lanes.each(kLanes, [&](int lane) {
      const int feature = first_feature + lane % wide;
      const int first = first_entry + lane / wide * share;
      const int end = first + share < data.n_rows ? first + share : data.n_rows;
      if (feature < data.n_features && first < end) f(feature, first, end);
    });
  });
}

// judge_features by a team of many: entries are shared among all, whatever the nodes' sizes, and
// what they find is joined by integers.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void judge_level(const W& w, const ForestData& data,
                                           const ForestTree& tree, std::uint32_t site, int level,
                                           int n_groups) {
  const int n_nodes = 1 << level;
  const int n_pairs = n_nodes * data.n_features;
  const int words = below_words(data.n_classes);
  for_each(w.team, n_pairs, [&](int at) {
    tree.ends[2 * at] = 0xffffffffu;
    tree.ends[2 * at + 1] = 0;
  });
  for_each(w.team, n_pairs * words, [&](int at) { tree.below[at] = 0; });
  w.team.sync();
  const auto value_at = [&](int i, int feature) {
    return data.x[static_cast<std::int64_t>(tree.rows[i]) * data.row_stride + feature];
  };
  for_pieces(w, data, [&](int feature, int first, int end) {
    int node = tree.cell[first] / n_groups;
    std::uint32_t low = 0xffffffffu;
    std::uint32_t high = 0;
    const auto hand_in = [&] {
      w.team.lower(&tree.ends[2 * (node * data.n_features + feature)], low);
      w.team.raise(&tree.ends[2 * (node * data.n_features + feature) + 1], high);
    };
    for (int i = first; i < end; ++i) {
      const int here = tree.cell[i] / n_groups;
      if (here != node) {
        hand_in();
        node = here;
        low = 0xffffffffu;
        high = 0;
      }
      const std::uint32_t key = order_key(value_at(i, feature));
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
    hand_in();
  });
  w.team.sync();
  for_each(w.team, n_pairs, [&](int at) {
    const int node = at / data.n_features;
    const float u = w.draws.uniform(site, static_cast<std::uint32_t>(n_nodes - 1 + node),
                                    static_cast<std::uint32_t>(at % data.n_features));
    const bool empty = tree.ends[2 * at] > tree.ends[2 * at + 1];
    const float low = empty ? 3.4e38f : from_order_key(tree.ends[2 * at]);
    const float high = empty ? -3.4e38f : from_order_key(tree.ends[2 * at + 1]);
    const float threshold = elementary::fma(u, high - low, low);
    tree.candidate[at] = threshold >= high ? low : threshold;
  });
  w.team.sync();
  // The nodes' sums of a numeric target stand behind the rest.
  std::int32_t* totals = tree.below + n_pairs * words;
  if (data.n_classes == 0) {
    for_each(w.team, 2 * n_nodes, [&](int at) { totals[at] = 0; });
    w.team.sync();
    for_each(w.team, data.n_rows, [&](int i) {
      w.team.add_wide(totals + 2 * tree.cell[i], whole_target(data.y[tree.rows[i]]));
    });
  }
  for_pieces(w, data, [&](int feature, int first, int end) {
    int cell = -1;
    float threshold = 0.0f;
    std::int32_t count = 0;
    std::int64_t sum = 0;
    std::int32_t* to = tree.below;
    const auto hand_in = [&] {
      if (count == 0) return;
      w.team.add(to, count);
      if (data.n_classes == 0) w.team.add_wide(to + 2, sum);
    };
    for (int i = first; i < end; ++i) {
      if (tree.cell[i] != cell) {
        hand_in();
        cell = tree.cell[i];
        const int pair = cell / n_groups * data.n_features + feature;
        threshold = tree.candidate[pair];
        to = tree.below + pair * words + (data.n_classes > 0 ? cell % n_groups : 0);
        count = 0;
        sum = 0;
      }
      if (value_at(i, feature) > threshold) continue;
      ++count;
      if (data.n_classes == 0) sum += whole_target(data.y[tree.rows[i]]);
    }
    hand_in();
  });
  w.team.sync();
  for_each(w.team, n_pairs, [&](int at) {
    const int node = at / data.n_features;
    const std::int32_t* begin = tree.begin + node * n_groups;
    const std::int32_t* below = tree.below + at * words;
    const int n = begin[n_groups] - begin[0];
    double left = 0.0;
    double right = 0.0;
    int n_left = 0;
    if (data.n_classes > 0) {
      for (int group = 0; group < n_groups; ++group) {
        const double l = below[group];
        const double r = begin[group + 1] - begin[group] - below[group];
        left += l * l;
        right += r * r;
        n_left += below[group];
      }
    } else {
      std::int64_t sum, total = 0;
      memcpy(&sum, below + 2, sizeof(sum));
      memcpy(&total, totals + 2 * node, sizeof(total));
      const auto l = static_cast<double>(sum);
      const auto r = static_cast<double>(total - sum);
      left = l * l;
      right = r * r;
      n_left = below[0];
    }
    const float low = from_order_key(tree.ends[2 * at]);
    const float high = from_order_key(tree.ends[2 * at + 1]);
    const bool splits = n > 0 && n_left > 0 && n_left < n && high - low > 1e-7f;
    tree.best[at] = splits ? split_score(left, right, n_left, n - n_left) : -1.0f;
  });
  w.team.sync();
}

// judge_features of one feature, eight entries at a time so that their numbers come together; for
// the lanes of a warp, each with a feature of the same node.
template <class W>
CAUSEWAY_HOST_DEVICE void judge_feature(const W& w, const ForestData& data, const ForestTree& tree,
                                        std::uint32_t site, int node_in_tree, int node,
                                        int n_groups, int feature) {
  constexpr int kTogether = 8;
  const int begin = tree.begin[node * n_groups];
  const int end = tree.begin[(node + 1) * n_groups];
  const int at = node * data.n_features + feature;
  tree.best[at] = -1.0f;
  tree.candidate[at] = 0.0f;
  if (begin == end) return;
  const auto load = [&](int first, int(&rows)[kTogether], float(&values)[kTogether]) {
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) rows[k] = tree.rows[first + k < end ? first + k : end - 1];
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) {
      values[k] = data.x[static_cast<std::int64_t>(rows[k]) * data.row_stride + feature];
    }
  };
  float low = 3.4e38f;
  float high = -3.4e38f;
  int rows[kTogether];
  float values[kTogether];
  for (int i = begin; i < end; i += kTogether) {
    load(i, rows, values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) {
      low = values[k] < low ? values[k] : low;
      high = values[k] > high ? values[k] : high;
    }
  }
  const float u = w.draws.uniform(site, static_cast<std::uint32_t>(node_in_tree),
                                  static_cast<std::uint32_t>(feature));
  float threshold = elementary::fma(u, high - low, low);
  threshold = threshold >= high ? low : threshold;
  const bool classes = data.n_classes > 0;
  double left = 0.0;
  double right = 0.0;
  int n_left = 0;
  int cell = tree.cell[begin];
  int all = 0;
  int inside = 0;
  std::int64_t sum = 0;
  std::int64_t total = 0;
  const auto end_group = [&] {
    const double l = inside;
    const double r = all - inside;
    left += l * l;
    right += r * r;
    n_left += inside;
    all = 0;
    inside = 0;
  };
  for (int i = begin; i < end; i += kTogether) {
    load(i, rows, values);
    int cells[kTogether];
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) cells[k] = tree.cell[i + k < end ? i + k : end - 1];
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) {
      if (i + k >= end) continue;
      if (cells[k] != cell) {
        end_group();
        cell = cells[k];
      }
      ++all;
      inside += values[k] <= threshold ? 1 : 0;
      if (classes) continue;
      const std::int64_t y = whole_target(data.y[rows[k]]);
      total += y;
      sum += values[k] <= threshold ? y : 0;
    }
  }
  end_group();
  if (!classes) {
    const auto l = static_cast<double>(sum);
    const auto r = static_cast<double>(total - sum);
    left = l * l;
    right = r * r;
  }
  const int n = end - begin;
  const bool splits = n_left > 0 && n_left < n && high - low > 1e-7f;
  tree.best[at] = splits ? split_score(left, right, n_left, n - n_left) : -1.0f;
  tree.candidate[at] = threshold;
}

// A warp a node and 32 features where there are enough of them, else everybody on every node.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void judge_by_many(const W& w, const ForestData& data,
                                             const ForestTree& tree, std::uint32_t site, int level,
                                             int n_groups) {
  const int n_nodes = 1 << level;
  const int n_pieces = (data.n_features + kLanes - 1) / kLanes;
  if (n_nodes * n_pieces < W::Team::kWarps) {
    return judge_level(w, data, tree, site, level, n_groups);
  }
  w.team.columns(n_nodes * n_pieces, [&](int at, const auto& lanes) {
    const int node = at / n_pieces;
    const int first = at % n_pieces * kLanes;
    const int here = data.n_features - first < kLanes ? data.n_features - first : kLanes;
    lanes.each(here, [&](int k) {
      judge_feature(w, data, tree, site, n_nodes - 1 + node, node, n_groups, first + k);
    });
  });
  w.team.sync();
}

}  // namespace causeway::prior
