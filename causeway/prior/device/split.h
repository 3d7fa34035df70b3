// Split candidates of the forest on the GPU: a lane processes one feature over the entries of all
// nodes of a level, or of some nodes if there are few features, in one pass, so that a node with
// most of the rows costs no more than many small ones. Bound by load latency, with sixteen loads in
// flight.
#pragma once

#include "causeway/prior/device/node_split.h"

namespace causeway::prior {

inline constexpr int kTogether = 16;  // entries loaded at once
inline constexpr int kFew = 4;        // if they belong to several cells

template <int kCount>
CAUSEWAY_HOST_DEVICE void load_words(const std::int32_t* from, int (&words)[kCount]) {
  of_device(from);
  CAUSEWAY_UNROLL
  for (int k = 0; k < kCount; k += 4) {
#if defined(__CUDA_ARCH__)
    const int4 four = *reinterpret_cast<const int4*>(from + k);
    words[k] = four.x, words[k + 1] = four.y, words[k + 2] = four.z, words[k + 3] = four.w;
#else
    for (int i = 0; i < 4; ++i) words[k + i] = from[k + i];
#endif
  }
}

// Minimum of finite values; for 0 and -0 either, since the GPU instruction does not specify it.
// Thresholds of 0 and -0 split the same rows.
CAUSEWAY_HOST_DEVICE float lesser(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fminf(a, b);
#else
  return a < b ? a : b;
#endif
}

CAUSEWAY_HOST_DEVICE float greater(float a, float b) {
#if defined(__CUDA_ARCH__)
  return fmaxf(a, b);
#else
  return a > b ? a : b;
#endif
}

// Consecutive nodes of a level and their entries, which one lane processes.
struct NodeRange {
  int first_node;
  int end_node;
  int begin;
  int end;
};

// Part `part` of n_parts with about equally many entries; a node belongs to the part in which it
// starts.
CAUSEWAY_HOST_DEVICE NodeRange range_of(const ForestData& data, const ForestTree& tree, int level,
                                        int bits, int part, int n_parts) {
  const auto first_from = [&](int entry) {
    int low = 0;
    int high = 1 << level;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (begin_of(tree, middle << bits) < entry)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  NodeRange range{};
  range.first_node = part == 0 ? 0 : first_from(part * data.n_rows / n_parts);
  range.end_node =
      part + 1 == n_parts ? 1 << level : first_from((part + 1) * data.n_rows / n_parts);
  range.begin = begin_of(tree, range.first_node << bits);
  range.end = begin_of(tree, range.end_node << bits);
  return range;
}

// Calls one(cell, row, value) for every entry of a range in order. Groups of kTogether entries are
// passed to all(first cell, last cell, values) first, which returns true if it has processed them,
// as it can if they belong to one cell.
template <class All, class One>
CAUSEWAY_HOST_DEVICE void walk_entries(ForestData data, ForestTree tree, int feature,
                                       const NodeRange& range, const All& all, const One& one) {
  const float* x = of_device(data.x + feature);
  // Unsigned byte offsets, so that a GPU computes the address in one instruction.
  const auto row_bytes = static_cast<std::uint32_t>(data.row_stride * sizeof(float));
  const auto value_of = [&](int row) {
    const std::uint64_t offset = std::uint64_t{static_cast<std::uint32_t>(row)} * row_bytes;
    return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + offset);
  };
  const auto walk = [&](int first, int end) {
    for (; first < end; ++first) {
      const int row = tree.rows[first];
      one(tree.cell[first], row, value_of(row));
    }
  };
  const auto walk_by_few = [&](int from, int end) {
    CAUSEWAY_NO_UNROLL
    for (; from < end; from += kFew) {
      int rows[kFew];
      int cells[kFew];
      float values[kFew];
      load_words(tree.rows + from, rows);
      load_words(tree.cell + from, cells);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kFew; ++k) values[k] = value_of(rows[k]);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kFew; ++k) one(cells[k], rows[k], values[k]);
    }
  };
  const int aligned = (range.begin + kFew - 1) / kFew * kFew;
  int first = aligned < range.end ? aligned : range.end;
  walk(range.begin, first);
  for (; first + kTogether <= range.end; first += kTogether) {
    const int first_cell = tree.cell[first];
    const int last_cell = tree.cell[first + kTogether - 1];
    {
      int rows[kTogether];
      float values[kTogether];
      load_words(tree.rows + first, rows);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kTogether; ++k) values[k] = value_of(rows[k]);
      if (all(first_cell, last_cell, values)) continue;
    }
    walk_by_few(first, first + kTogether);
  }
  const int rest = (range.end - first) / kFew * kFew;
  walk_by_few(first, first + rest);
  walk(first + rest, range.end);
}

// Draws thresholds of one feature for some nodes of a level; nodes without one keep a score of -1.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_thresholds(const W& w, ForestData data, ForestTree tree,
                                               std::uint32_t site, int level, int bits, int feature,
                                               NodeRange range) {
  tree.assume_device();
  const int n_nodes = 1 << level;
  for (int node = range.first_node; node < range.end_node; ++node) {
    tree.best[node * data.n_features + feature] = -1.0f;
  }
  int node = -1;
  float low = 3.4e38f;
  float high = -3.4e38f;
  const auto end_node = [&] {
    if (node < 0) return;
    const float u = w.draws.uniform(site, static_cast<std::uint32_t>(n_nodes - 1 + node),
                                    static_cast<std::uint32_t>(feature));
    const float threshold = elementary::fma(u, high - low, low);
    const int at = node * data.n_features + feature;
    tree.candidate[at] = threshold >= high ? low : threshold;
    tree.best[at] = high - low > 1e-7f ? 0.0f : -1.0f;
  };
  const auto see = [&](float value) {
    low = lesser(value, low);
    high = greater(value, high);
  };
  const auto all = [&](int first, int last, const float(&values)[kTogether]) {
    if (first >> bits != node || last >> bits != node) return false;
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) see(values[k]);
    return true;
  };
  walk_entries(data, tree, feature, range, all, [&](int cell, int, float value) {
    if (cell >> bits != node) {
      end_node();
      node = cell >> bits;
      low = 3.4e38f;
      high = -3.4e38f;
    }
    see(value);
  });
  end_node();
}

// Scores the candidates for a classification target.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void score_classes(const W&, ForestData data, ForestTree tree, int bits,
                                             int feature, NodeRange range) {
  tree.assume_device();
  int cell = -1;
  int at = 0;
  bool splits = false;
  float threshold = 0.0f;
  double left = 0.0;
  double right = 0.0;
  int n = 0;
  int n_left = 0;
  int here = 0;
  int inside = 0;
  const auto end_cell = [&] {
    const double l = inside;
    const double r = here - inside;
    left += l * l;
    right += r * r;
    n += here;
    n_left += inside;
    here = 0;
    inside = 0;
  };
  const auto end_node = [&] {
    if (cell < 0 || !splits) return;
    tree.best[at] = n_left > 0 && n_left < n ? split_score(left, right, n_left, n - n_left) : -1.0f;
  };
  const auto all = [&](int first, int last, const float(&values)[kTogether]) {
    if (first != cell || last != cell) return false;
    // Counts sign bits of differences, which are nonzero for distinct values.
    std::uint32_t outside = 0;
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTogether; ++k) outside += elementary::bits_of(threshold - values[k]) >> 31;
    inside += kTogether - static_cast<int>(outside);
    here += kTogether;
    return true;
  };
  walk_entries(data, tree, feature, range, all, [&](int next, int, float value) {
    if (next != cell) {
      end_cell();
      if (cell < 0 || next >> bits != cell >> bits) {
        end_node();
        at = (next >> bits) * data.n_features + feature;
        threshold = tree.candidate[at];
        splits = tree.best[at] >= 0.0f;
        left = 0.0;
        right = 0.0;
        n = 0;
        n_left = 0;
      }
      cell = next;
    }
    ++here;
    inside += value <= threshold ? 1 : 0;
  });
  end_cell();
  end_node();
}

// Scores the candidates for a numeric target.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void score_numbers(const W&, ForestData data, ForestTree tree, int bits,
                                             int feature, NodeRange range) {
  tree.assume_device();
  int node = -1;
  int at = 0;
  bool splits = false;
  float threshold = 0.0f;
  std::int64_t sum = 0;
  std::int64_t total = 0;
  int n = 0;
  int n_left = 0;
  const auto end_node = [&] {
    if (node < 0 || !splits) return;
    const auto l = static_cast<double>(sum);
    const auto r = static_cast<double>(total - sum);
    tree.best[at] =
        n_left > 0 && n_left < n ? split_score(l * l, r * r, n_left, n - n_left) : -1.0f;
  };
  const auto none = [](int, int, const auto&) { return false; };
  walk_entries(data, tree, feature, range, none, [&](int cell, int row, float value) {
    if (cell >> bits != node) {
      end_node();
      node = cell >> bits;
      at = node * data.n_features + feature;
      threshold = tree.candidate[at];
      splits = tree.best[at] >= 0.0f;
      sum = 0;
      total = 0;
      n = 0;
      n_left = 0;
    }
    const std::int64_t y = fixed_point_target(data.y[row]);
    const bool inside = value <= threshold;
    total += y;
    sum += inside ? y : 0;
    ++n;
    n_left += inside ? 1 : 0;
  });
  end_node();
}

}  // namespace causeway::prior
