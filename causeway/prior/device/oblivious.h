// Ensembles of oblivious trees as functions from some columns to others.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/columns.h"
#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

// Leaves of some trees, `stride` numbers apart, each (outputs, leaves), as (leaves, outputs) with
// room for a multiple of kTile outputs: a thread of many then finds what a leaf says in one place.
// nullptr where there is no memory for it, or where it would not help.
template <class W>
CAUSEWAY_HOST_DEVICE const float* turn_leaves(const W& w, const float* leaves, std::int64_t stride,
                                              int n_trees, int n_leaves, int n_out) {
  const int pitch = tiled(n_out);
  const std::int64_t size = static_cast<std::int64_t>(n_trees) * n_leaves * pitch;
  float* turned = w.arena.spare(size);
  if (W::Team::kRows > 1 || n_out < 3 || turned == nullptr) return nullptr;
  for_each(w.team, n_trees * pitch * n_leaves, [&](int at) {
    const int leaf = at % n_leaves;
    const int o = at / n_leaves % pitch;
    const int tree = at / n_leaves / pitch;
    turned[static_cast<std::int64_t>(tree * n_leaves + leaf) * pitch + o] =
        o < n_out ? leaves[tree * stride + o * n_leaves + leaf] : 0.0f;
  });
  w.team.sync();
  return turned;
}

// What those say of a row, of which `places` tells the leaf in every tree.
struct TurnedLeaves {
  const float* turned;
  const std::int32_t* places;
  int stride;
  int n_leaves;
  int pitch;

  // Adds what kMany trees say to the sums of a tile, one after the other; all of it is there before
  // the first.
  template <int kMany>
  CAUSEWAY_HOST_DEVICE void add(int tree, float (&sum)[kTile][1]) const {
    float values[kMany][kTile];
    CAUSEWAY_UNROLL
    for (int u = 0; u < kMany; ++u) {
      const int leaf = (tree + u) * n_leaves + of_device(places)[(tree + u) * stride];
      load_tile(of_device(turned + static_cast<std::int64_t>(leaf) * pitch), values[u]);
    }
    after_loads();
    CAUSEWAY_UNROLL
    for (int u = 0; u < kMany; ++u) {
      CAUSEWAY_UNROLL
      for (int k = 0; k < kTile; ++k) sum[k][0] += values[u][k];
    }
  }
};

// Oblivious trees: every level of a tree splits all of it by one column. Columns are chosen by how
// far they spread, thresholds are values of random rows, leaves are normal, trees are averaged.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void trees_function(W& w, Columns x, Columns out) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kMostLeaves = 1 << 18;  // numbers of the leaves that are drawn at a time
  constexpr int kOuts = kRows == 1 ? 8 : 2;
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
  const int n_out = out.n_columns;
  const int pitch = tiled(n_out);
  int chunk = kMostLeaves / (n_leaves * n_out);
  chunk = chunk < 1 ? 1 : (chunk > n_trees ? n_trees : chunk);
  const std::int64_t per_tree = static_cast<std::int64_t>(n_leaves) * n_out;
  const auto blocks_per_tree = static_cast<std::uint32_t>((per_tree + 63) / 64);  // of 16 draws
  float* leaves = w.arena.take(static_cast<std::int64_t>(blocks_per_tree) * 64 * chunk);
  auto* places =
      reinterpret_cast<std::int32_t*>(w.arena.take(static_cast<std::int64_t>(chunk) * w.stride));
  if (w.arena.failed) return;
  w.team.sync();
  note(w.team, "trees", n_trees);
  note(w.team, "depth", depth);
  note_array(w.team, "thresholds", thresholds, n_splits);
  note_array(w.team, "split_columns", reinterpret_cast<const float*>(split_columns), n_splits);
  const float share = 1.0f / static_cast<float>(n_trees);
  for (int tree = 0; tree < n_trees; tree += chunk) {
    const int here = n_trees - tree < chunk ? n_trees - tree : chunk;
    fill_normals_from(w, leaf_site, static_cast<std::uint32_t>(tree) * blocks_per_tree * 16, leaves,
                      static_cast<std::int64_t>(here) * blocks_per_tree * 64);
    for (int t = 0; t < here; ++t) {
      note_array(w.team, "leaves", leaves + t * blocks_per_tree * 64, per_tree);
    }
    const float* turned = turn_leaves(w, leaves, blocks_per_tree * 64, here, n_leaves, n_out);
    // Which leaf of each tree a row is in, then what the leaves say, a few outputs at a time.
    for_rows(w.team, w.n_rows, [&](int row) {
      for (int t = 0; t < here; ++t) {
        std::int32_t leaf[kRows] = {};
        for (int level = 0; level < depth; ++level) {
          const int s = (tree + t) * depth + level;
          const float* column = x.column(split_columns[s]) + row;
          const float threshold = thresholds[s];
          for (int b = 0; b < kRows; ++b) leaf[b] |= (column[b] > threshold ? 1 : 0) << level;
        }
        for (int b = 0; b < kRows; ++b) places[t * w.stride + row + b] = leaf[b];
      }
      for (int o = 0; o < n_out; o += kOuts) {
        const int outs = n_out - o < kOuts ? n_out - o : kOuts;
        float sum[kOuts][kRows] = {};
        CAUSEWAY_UNROLL
        for (int k = 0; k < kOuts; ++k) {
          if (k >= outs || tree == 0) continue;
          for (int b = 0; b < kRows; ++b) sum[k][b] = out.column(o + k)[row + b];
        }
        int t = 0;
        if constexpr (kRows == 1) {
          if (turned != nullptr) {
            const TurnedLeaves of{turned + o, places + row, w.stride, n_leaves, pitch};
            for (; t + 4 <= here; t += 4) of.add<4>(t, sum);
            CAUSEWAY_NO_UNROLL
            for (; t < here; ++t) of.add<1>(t, sum);
          }
        }
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
        for (; t < here; ++t) {
          const std::int32_t* leaf = places + t * w.stride + row;
          const float* of =
              leaves + t * static_cast<std::int64_t>(blocks_per_tree) * 64 + o * n_leaves;
          CAUSEWAY_UNROLL
          for (int k = 0; k < kOuts; ++k) {
            if (k >= outs) continue;
            for (int b = 0; b < kRows; ++b) sum[k][b] += of[k * n_leaves + leaf[b]];
          }
        }
        const float factor = tree + here == n_trees ? share : 1.0f;
        CAUSEWAY_UNROLL
        for (int k = 0; k < kOuts; ++k) {
          if (k >= outs) continue;
          for (int b = 0; b < kRows; ++b) out.column(o + k)[row + b] = sum[k][b] * factor;
        }
      }
    });
    w.team.sync();
  }
}

}  // namespace causeway::prior
