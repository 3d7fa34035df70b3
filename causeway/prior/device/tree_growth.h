// One tree of the forest: its bootstrap sample, the partition of its entries, its leaves. 32 lanes
// share a tree.
#pragma once

#include "causeway/prior/device/workspace.h"

#include <cstring>

namespace causeway::prior {

inline constexpr int kForestDepth = 6;
inline constexpr int kForestLeaves = 1 << kForestDepth;
inline constexpr float kTargetScale = 4096.0f;  // fixed-point scale of a numeric target

// Row-major features, rows padded to a multiple of kFeaturePadding, and a target: classes 0 ...
// n_classes - 1, or numbers.
inline constexpr int kFeaturePadding = 16;

struct ForestData {
  const float* x;
  const float* y;
  int n_rows;
  int n_features;
  int row_stride;
  int n_classes;  // 0: numeric target
};

// The target in fixed point.
CAUSEWAY_HOST_DEVICE std::int64_t fixed_point_target(float y) {
  return static_cast<std::int64_t>(y * kTargetScale);
}

// Entries are sorted by cell, which is node << bits | group. cursor[cell] is where the next cell
// begins.
struct ForestTree {
  std::int32_t* sums;  // 64-bit, by leaf
  std::int32_t* rows;
  std::int32_t* cell;
  std::int32_t* moved;
  std::int32_t* moved_cell;
  std::int32_t* cursor;  // by cell
  std::int32_t* split;   // by inner node, in heap order; -1: leaf
  float* threshold;
  float* best;       // scores (nodes, features) of a level
  float* candidate;  // thresholds (nodes, features) of a level
  float* leaf;       // (leaves, groups)
  std::uint8_t* seen;

  // Padded so that eight entries can be loaded at once.
  static CAUSEWAY_HOST_DEVICE std::int64_t rows_room(ForestData data) {
    return (std::int64_t{data.n_rows} + 7) / 8 * 8;
  }
  static CAUSEWAY_HOST_DEVICE std::int64_t floats(ForestData data, int n_groups, int bits) {
    const std::int64_t words = 4 * rows_room(data) + (std::int64_t{kForestLeaves} << bits) +
                               std::int64_t{kForestLeaves} * (4 + data.n_features + n_groups) +
                               (data.n_rows + 3) / 4;
    return (words + 15) / 16 * 16;
  }

  // Carves the arrays out of `memory`. Levels alternate between two buffers of entries.
  CAUSEWAY_HOST_DEVICE ForestTree(float* memory, ForestData data, int n_groups, int bits,
                                  int level) {
    const auto take = [&](std::int64_t count) {
      float* taken = memory;
      memory += count;
      return of_device(taken);
    };
    const auto take_words = [&](std::int64_t count) {
      return reinterpret_cast<std::int32_t*>(take(count));
    };
    sums = take_words(2 * kForestLeaves);
    const std::int64_t room = rows_room(data);
    std::int32_t* entries[2] = {take_words(2 * room), take_words(2 * room)};
    const bool odd = level % 2 == 1;
    rows = odd ? entries[1] : entries[0];
    moved = odd ? entries[0] : entries[1];
    cell = rows + room;
    moved_cell = moved + room;
    cursor = take_words(std::int64_t{kForestLeaves} << bits);
    split = take_words(kForestLeaves);
    threshold = take(kForestLeaves);
    best = take(std::int64_t{kForestLeaves / 2} * data.n_features);
    candidate = take(std::int64_t{kForestLeaves / 2} * data.n_features);
    leaf = take(std::int64_t{kForestLeaves} * n_groups);
    seen = reinterpret_cast<std::uint8_t*>(memory);
  }

  // Repeats of_device for a copy that was passed to a function.
  CAUSEWAY_HOST_DEVICE void assume_device() const {
    of_device(rows), of_device(cell), of_device(best), of_device(candidate);
  }
};

// The first entry of a cell.
CAUSEWAY_HOST_DEVICE std::int32_t begin_of(const ForestTree& tree, int cell) {
  return cell > 0 ? tree.cursor[cell - 1] : 0;
}

// Draws a bootstrap sample, grouped by class.
template <class W, class Lanes>
CAUSEWAY_HOST_DEVICE void sample_rows(const W& w, const Lanes& lanes, ForestData data,
                                      const ForestTree& tree, std::uint32_t site, int bits) {
  const int n_cells = 1 << bits;
  lanes.each(n_cells, [&](int i) { tree.cursor[i] = 0; });
  lanes.each(data.n_rows, [&](int i) { tree.seen[i] = 0; });
  lanes.sync();
  const auto group_at = [&](int i) {
    const int row = bounded(w.draws.bits(site, static_cast<std::uint32_t>(i)).word[0], data.n_rows);
    tree.moved[i] = row;
    tree.seen[row] = 1;
    return data.n_classes > 0 ? static_cast<int>(data.y[row]) : 0;
  };
  lanes.places(tree.cursor, data.n_rows, group_at,
               [&](int i, int group, int) { tree.moved_cell[i] = group; });
  lanes.sync();
  lanes.exclusive_sum(tree.cursor, n_cells);
  lanes.sync();
  lanes.places(
      tree.cursor, data.n_rows, [&](int i) { return tree.moved_cell[i]; },
      [&](int i, int group, int place) {
        tree.rows[place] = tree.moved[i];
        tree.cell[place] = group;
      });
  lanes.sync();
}

// The feature with the best score, the first of equals; -1 if none splits.
CAUSEWAY_HOST_DEVICE int best_feature(const float* scores, int n_features) {
  of_device(scores);
  float best = -1.0f;
  int found = -1;
  for (int f = 0; f < n_features; ++f) {
    const float score = scores[f];
    found = score > best ? f : found;
    best = score > best ? score : best;
  }
  return found;
}

// Splits the nodes of a level at their best candidates and partitions their entries.
template <class Lanes>
CAUSEWAY_HOST_DEVICE void split_nodes(const Lanes& lanes, ForestData data, const ForestTree& tree,
                                      int level, int bits) {
  const int n_nodes = 1 << level;
  const int first_node = n_nodes - 1;
  lanes.each(n_nodes, [&](int node) {
    const int feature = best_feature(tree.best + node * data.n_features, data.n_features);
    tree.split[first_node + node] = feature;
    tree.threshold[first_node + node] =
        feature >= 0 ? tree.candidate[node * data.n_features + feature] : 0.0f;
  });
  const int n_cells = (2 * n_nodes) << bits;
  lanes.each(n_cells, [&](int i) { tree.cursor[i] = 0; });
  lanes.sync();
  const auto cell_at = [&](int i) {
    const int cell = tree.cell[i];
    const int node = cell >> bits;
    const int feature = tree.split[first_node + node];
    const float* row = data.x + static_cast<std::int64_t>(tree.rows[i]) * data.row_stride;
    const float value = of_device(row)[feature < 0 ? 0 : feature];
    const bool below = value <= tree.threshold[first_node + node];
    return cell + ((node + (below || feature < 0 ? 0 : 1)) << bits);
  };
  lanes.places(tree.cursor, data.n_rows, cell_at,
               [&](int i, int cell, int) { tree.cell[i] = cell; });
  lanes.sync();
  lanes.exclusive_sum(tree.cursor, n_cells);
  lanes.sync();
  lanes.places(
      tree.cursor, data.n_rows, [&](int i) { return tree.cell[i]; },
      [&](int i, int cell, int place) {
        tree.moved[place] = tree.rows[i];
        tree.moved_cell[place] = cell;
      });
  lanes.sync();
}

// Leaf predictions: class frequencies, or the mean target.
template <class W, class Lanes>
CAUSEWAY_HOST_DEVICE void fill_leaves(const W& w, const Lanes& lanes, ForestData data,
                                      const ForestTree& tree, int n_groups, int bits) {
  if (data.n_classes > 0) {
    lanes.each(kForestLeaves, [&](int at) {
      const int n = begin_of(tree, (at + 1) << bits) - begin_of(tree, at << bits);
      for (int group = 0; group < n_groups; ++group) {
        const int cell = (at << bits) + group;
        const int here = tree.cursor[cell] - begin_of(tree, cell);
        tree.leaf[at * n_groups + group] =
            n > 0 ? static_cast<float>(here) / static_cast<float>(n) : 0.0f;
      }
    });
    return;
  }
  lanes.each(2 * kForestLeaves, [&](int i) { tree.sums[i] = 0; });
  lanes.sync();
  lanes.each(data.n_rows, [&](int i) {
    w.team.add_wide(tree.sums + 2 * tree.cell[i], fixed_point_target(data.y[tree.rows[i]]));
  });
  lanes.sync();
  lanes.each(kForestLeaves, [&](int at) {
    std::int64_t sum = 0;
    std::memcpy(&sum, tree.sums + 2 * at, sizeof(sum));
    const int n = begin_of(tree, at + 1) - begin_of(tree, at);
    tree.leaf[at] = n > 0 ? static_cast<float>(static_cast<double>(sum) / n) / kTargetScale : 0.0f;
  });
}

}  // namespace causeway::prior
