// Ensembles of oblivious trees as functions from columns to columns.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/columns.h"
#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

// GPU: transposes the leaves of some trees, `stride` floats apart, from (outputs, leaves) to
// (leaves, outputs padded to kTile), so that a leaf's outputs are contiguous. Returns nullptr if
// there is no memory for it, or no benefit.
template <class W>
CAUSEWAY_HOST_DEVICE const float* transpose_leaves(const W& w, const float* leaves,
                                                   std::int64_t stride, int n_trees, int n_leaves,
                                                   int n_out) {
  const int pitch = tiled(n_out);
  const std::int64_t size = static_cast<std::int64_t>(n_trees) * n_leaves * pitch;
  float* transposed = w.arena.spare(size);
  if (W::Team::kRows > 1 || n_out < 3 || transposed == nullptr) return nullptr;
  for_each(w.team, n_trees * pitch * n_leaves, [&](int at) {
    const int leaf = at % n_leaves;
    const int o = at / n_leaves % pitch;
    const int tree = at / n_leaves / pitch;
    transposed[static_cast<std::int64_t>(tree * n_leaves + leaf) * pitch + o] =
        o < n_out ? leaves[tree * stride + o * n_leaves + leaf] : 0.0f;
  });
  w.team.sync();
  return transposed;
}

// The transposed leaves of one row; `places` is its leaf in every tree.
struct TransposedLeaves {
  const float* transposed;
  const std::int32_t* places;
  int stride;
  int n_leaves;
  int pitch;

  // Adds the outputs of kMany trees to the sums of a tile, in order; all are loaded before the
  // first addition.
  template <int kMany>
  CAUSEWAY_HOST_DEVICE void add(int tree, float (&sum)[kTile][1]) const {
    float values[kMany][kTile];
    CAUSEWAY_UNROLL
    for (int u = 0; u < kMany; ++u) {
      const int leaf = (tree + u) * n_leaves + of_device(places)[(tree + u) * stride];
      load_tile(of_device(transposed + static_cast<std::int64_t>(leaf) * pitch), values[u]);
    }
    after_loads();
    CAUSEWAY_UNROLL
    for (int u = 0; u < kMany; ++u) {
      CAUSEWAY_UNROLL
      for (int k = 0; k < kTile; ++k) sum[k][0] += values[u][k];
    }
  }
};

// A chunk of trees whose leaves are in memory. Every level of a tree splits all its nodes by one
// column and threshold.
struct ObliviousTrees {
  const float* thresholds;            // (trees, depth)
  const std::int32_t* split_columns;  // (trees, depth)
  const float* leaves;                // `leaf_stride` floats per tree, (outputs, leaves)
  const float* transposed;            // by transpose_leaves, or nullptr
  std::int64_t leaf_stride;
  int n_trees;  // of all chunks
  int depth;
  int first;  // tree of this chunk
  int count;  // trees of this chunk

  CAUSEWAY_HOST_DEVICE int n_leaves() const { return 1 << depth; }
};

// Draws the columns, with probabilities proportional to their standard deviation, and the
// thresholds, values of random rows, of all splits.
template <class W>
CAUSEWAY_HOST_DEVICE void draw_splits(W& w, Columns x, std::uint32_t site, int n_splits,
                                      float* cumulative, float* thresholds,
                                      std::int32_t* split_columns) {
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    const float deviation = moments_of(lanes, x.column(c), w.n_fit).deviation;
    const float weight = is_finite(deviation) ? at_least(deviation, 1e-8f) : 1e-8f;
    lanes.each(1, [&](int) { cumulative[c] = weight; });
  });
  w.team.sync();
  if (w.team.rank() == 0) {
    for (int c = 1; c < x.n_columns; ++c) cumulative[c] += cumulative[c - 1];
  }
  w.team.sync();
  for_each(w.team, n_splits, [&](int s) {
    const Bits128 bits = w.draws.bits(site, static_cast<std::uint32_t>(s));
    const float place = open_uniform(bits.word[0]) * cumulative[x.n_columns - 1];
    int low = 0;
    int high = x.n_columns - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (place >= cumulative[middle])
        low = middle + 1;
      else
        high = middle;
    }
    split_columns[s] = low;
    thresholds[s] = x.column(low)[bounded(bits.word[1], w.n_fit)];
  });
}

// Finds the leaf of a block of rows in every tree of a chunk.
template <class W>
CAUSEWAY_HOST_DEVICE void find_leaves(const W& w, const ObliviousTrees& trees, Columns x, int row,
                                      std::int32_t* places) {
  constexpr int kRows = W::Team::kRows;
  for (int t = 0; t < trees.count; ++t) {
    std::int32_t leaf[kRows] = {};
    for (int level = 0; level < trees.depth; ++level) {
      const int s = (trees.first + t) * trees.depth + level;
      const float* column = x.column(trees.split_columns[s]) + row;
      const float threshold = trees.thresholds[s];
      for (int b = 0; b < kRows; ++b) leaf[b] |= (column[b] > threshold ? 1 : 0) << level;
    }
    for (int b = 0; b < kRows; ++b) places[t * w.stride + row + b] = leaf[b];
  }
}

// Adds the leaves of a chunk to the outputs of a block of rows, a few outputs at a time. The last
// chunk divides by the number of trees.
template <class W>
CAUSEWAY_HOST_DEVICE void add_leaves(const W& w, const ObliviousTrees& trees, int row,
                                     const std::int32_t* places, Columns out) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kOuts = kRows == 1 ? 8 : 2;
  const float share = 1.0f / static_cast<float>(trees.n_trees);
  const int n_out = out.n_columns;
  const int n_leaves = trees.n_leaves();
  for (int o = 0; o < n_out; o += kOuts) {
    const int outs = n_out - o < kOuts ? n_out - o : kOuts;
    float sum[kOuts][kRows] = {};
    CAUSEWAY_UNROLL
    for (int k = 0; k < kOuts; ++k) {
      if (k >= outs || trees.first == 0) continue;
      for (int b = 0; b < kRows; ++b) sum[k][b] = out.column(o + k)[row + b];
    }
    int t = 0;
    if constexpr (kRows == 1) {
      if (trees.transposed != nullptr) {
        const TransposedLeaves of{trees.transposed + o, places + row, w.stride, n_leaves,
                                  tiled(n_out)};
        for (; t + 4 <= trees.count; t += 4) of.add<4>(t, sum);
        CAUSEWAY_NO_UNROLL
        for (; t < trees.count; ++t) of.add<1>(t, sum);
      }
    }
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (; t < trees.count; ++t) {
      const std::int32_t* leaf = places + t * w.stride + row;
      const float* of = trees.leaves + t * trees.leaf_stride + o * n_leaves;
      CAUSEWAY_UNROLL
      for (int k = 0; k < kOuts; ++k) {
        if (k >= outs) continue;
        for (int b = 0; b < kRows; ++b) sum[k][b] += of[k * n_leaves + leaf[b]];
      }
    }
    const float factor = trees.first + trees.count == trees.n_trees ? share : 1.0f;
    CAUSEWAY_UNROLL
    for (int k = 0; k < kOuts; ++k) {
      if (k >= outs) continue;
      for (int b = 0; b < kRows; ++b) out.column(o + k)[row + b] = sum[k][b] * factor;
    }
  }
}

// The mean of oblivious trees with normal leaves.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void trees_function(W& w, Columns x, Columns out) {
  constexpr int kMostLeaves = 1 << 18;  // leaf values drawn at a time
  const int n_trees =
      static_cast<int>(elementary::nearest(number(w, Number::n_trees, {1.0f, 128.0f, true})));
  const int depth = integer(w, Number::tree_depth, 1, 8);
  const int n_leaves = 1 << depth;
  const int n_splits = n_trees * depth;
  const Scratch scratch(w.arena);
  float* cumulative = w.arena.take(x.n_columns);
  float* thresholds = w.arena.take(n_splits);
  auto* split_columns = reinterpret_cast<std::int32_t*>(w.arena.take(n_splits));
  const std::uint32_t site = w.next_site();
  const std::uint32_t leaf_site = w.next_site();
  if (w.arena.failed) return;
  draw_splits(w, x, site, n_splits, cumulative, thresholds, split_columns);
  const int n_out = out.n_columns;
  int chunk = kMostLeaves / (n_leaves * n_out);
  chunk = chunk < 1 ? 1 : (chunk > n_trees ? n_trees : chunk);
  const std::int64_t per_tree = static_cast<std::int64_t>(n_leaves) * n_out;
  const auto blocks_per_tree = static_cast<std::uint32_t>((per_tree + 63) / 64);  // of 16 draws
  const std::int64_t leaf_stride = static_cast<std::int64_t>(blocks_per_tree) * 64;
  float* leaves = w.arena.take(leaf_stride * chunk);
  auto* places =
      reinterpret_cast<std::int32_t*>(w.arena.take(static_cast<std::int64_t>(chunk) * w.stride));
  if (w.arena.failed) return;
  w.team.sync();
  note(w.team, "trees", n_trees);
  note(w.team, "depth", depth);
  note_array(w.team, "thresholds", thresholds, n_splits);
  note_array(w.team, "split_columns", reinterpret_cast<const float*>(split_columns), n_splits);
  for (int tree = 0; tree < n_trees; tree += chunk) {
    const int here = n_trees - tree < chunk ? n_trees - tree : chunk;
    fill_normals_from(w, leaf_site, static_cast<std::uint32_t>(tree) * blocks_per_tree * 16, leaves,
                      here * leaf_stride);
    for (int t = 0; t < here; ++t) {
      note_array(w.team, "leaves", leaves + t * leaf_stride, per_tree);
    }
    const float* transposed = transpose_leaves(w, leaves, leaf_stride, here, n_leaves, n_out);
    const ObliviousTrees trees{thresholds, split_columns, leaves, transposed, leaf_stride,
                               n_trees,    depth,         tree,   here};
    for_rows(w.team, w.n_rows, [&](int row) {
      find_leaves(w, trees, x, row, places);
      add_leaves(w, trees, row, places, out);
    });
    w.team.sync();
  }
}

}  // namespace causeway::prior
