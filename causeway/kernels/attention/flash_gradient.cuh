// The gradients on tensor cores, without atomics: one block per tile of queries sums their
// gradients (and stores gradient · out of each row), then one block per tile of keys sums those of
// keys and values; both recompute the scores. Operations: 14 per query, key and feature. Bound by
// the tensor cores, with few features equally by the exponentials (24 features, 1000 rows: about
// 0.4 of the limit of mma.sync or of the exponentials, because too few warps hide the latencies).
#pragma once

#include "causeway/kernels/attention/tiles.cuh"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

// A tile of rows is stationary: four warps with sixteen rows each or, if registers allow, twice
// that, which halves the loads. Tiles of the other side stream past it.
template <int kHead>
struct GradientPlan {
  static constexpr int kTiles = kHead <= 32 ? 2 : 1;
  static constexpr int kBlock = 128;
  // Minimum blocks per multiprocessor, measured: more warps without register spills.
  static constexpr int kQueryBlocks = kHead <= 24 ? 4 : 3;
  static constexpr int kKeyBlocks = kHead <= 24 ? 4 : (kHead <= 64 ? 3 : 1);
  static constexpr int kRows = kBlock / 2 * kTiles;        // of the stationary side
  static constexpr int kStreamed = kHead <= 64 ? 64 : 32;  // of the streamed side
  static constexpr bool kHeld = kHead <= 64;               // in registers
  static constexpr int kRowBytes = kTileBytes<kHead, kRows>;
  static constexpr int kStreamedBytes = kTileBytes<kHead, kStreamed>;
  static constexpr std::size_t kQueryShared = 2 * kRowBytes + 4 * kStreamedBytes;
  // Followed by the logarithms and dots of two tiles of queries.
  static constexpr std::size_t kKeyShared = kQueryShared + 4 * kStreamed * sizeof(float);
};

template <class T, int kHead>
__global__ void __launch_bounds__(GradientPlan<kHead>::kBlock, GradientPlan<kHead>::kQueryBlocks)
    flash_query_gradient_kernel(AttentionShape shape, GradientViews<T> views, float* dots,
                                int n_tiles) {
  using Plan = GradientPlan<kHead>;
  constexpr int kBlock = Plan::kBlock;
  constexpr int kTiles = Plan::kTiles;
  constexpr int kKeys = Plan::kStreamed;
  constexpr int kElements = Plan::kStreamedBytes / 2;
  const TilePlace place(shape, n_tiles);
  const int first = (n_tiles - 1 - place.tile) * Plan::kRows;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  const HeadRows<const T> gradient = views.gradient.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* gradients = queries + Plan::kRowBytes / 2;
  T* keys = gradients + Plan::kRowBytes / 2;
  T* values = keys + 2 * kElements;

  const int last = min(first + Plan::kRows, shape.n_queries) - 1;
  const int n_key_tiles = (max(shape.seen(last, limit), 0) + kKeys - 1) / kKeys;
  copy_tile<kHead, Plan::kRows, kBlock>(queries, views.q.of(place.entry, place.head), first,
                                        shape.n_queries, shape);
  copy_tile<kHead, Plan::kRows, kBlock>(gradients, gradient, first, shape.n_queries, shape);
  end_copies();
  if (n_key_tiles > 0) {
    copy_tile<kHead, kKeys, kBlock>(keys, k, 0, limit, shape);
    copy_tile<kHead, kKeys, kBlock>(values, v, 0, limit, shape);
  }
  end_copies();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16 * kTiles;
  float dot[kTiles][2];
  float logarithm[kTiles][2];
#pragma unroll
  for (int part = 0; part < kTiles; ++part) {
    const int row = first + warp_row + 16 * part;
    row_dots<T, kHead>(dot[part], gradient, views.out.of(place.entry, place.head), row,
                       shape.n_queries, shape);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = row + lane / 4 + 8 * half;
      const bool there = query < shape.n_queries;
      logarithm[part][half] =
          there ? *views.log_sum.of(place.entry, place.head)[query] * kLog2E : 0.0f;
      if (there && lane % 4 == 0) dots[place.sequence * shape.n_queries + query] = dot[part][half];
    }
  }
  wait_for_copies<1>();
  __syncthreads();
  const RowFragments<T, kHead, kTiles, Plan::kHeld> query_rows(queries, warp_row);
  const RowFragments<T, kHead, kTiles, Plan::kHeld> gradient_rows(gradients, warp_row);
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float sums[kTiles][kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    const int begin = i * kKeys;
    wait_for_copies<0>();
    __syncthreads();  // this tile has arrived, the previous one has been read
    if (i + 1 < n_key_tiles) {
      const int stage = (i + 1) % 2 * kElements;
      copy_tile<kHead, kKeys, kBlock>(keys + stage, k, begin + kKeys, limit, shape);
      copy_tile<kHead, kKeys, kBlock>(values + stage, v, begin + kKeys, limit, shape);
    }
    end_copies();
    const T* key_tile = keys + i % 2 * kElements;
    const T* value_tile = values + i % 2 * kElements;
    const bool masked = shape.seen(first, limit) < begin + kKeys;
#pragma unroll
    for (int row = 0; row < kKeys; row += 16) {
      float score[kTiles][2][4] = {};
      float slope[kTiles][2][4];  // starts from minus the row's dot
#pragma unroll
      for (int j = 0; j < 8 * kTiles; ++j) slope[j / 8][j / 4 % 2][j % 4] = -dot[j / 8][j / 2 % 2];
      multiply_rows(score, query_rows, key_tile, row);
      multiply_rows(slope, gradient_rows, value_tile, row);
#pragma unroll
      for (int j = 0; j < 8 * kTiles; ++j) {
        const int part = j / 8;
        const int half = j / 2 % 2;
        float& value = score[part][j / 4 % 2][j % 4];
        value = power_of_2(value * scale - logarithm[part][half]);
        if (masked) {
          const int key = begin + row + 8 * (j / 4 % 2) + 2 * (lane % 4) + j % 2;
          const int query = first + warp_row + 16 * part + lane / 4 + 8 * half;
          if (key >= shape.seen(query, limit)) value = 0;
        }
        slope[part][j / 4 % 2][j % 4] *= value;
      }
      std::uint32_t a[kTiles][4];
      as_rows<T>(a, slope);
      add_rows<T, kHead>(sums, a, key_tile, row);
    }
  }
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
#pragma unroll
  for (int part = 0; part < kTiles; ++part) {
    const int row = warp_row + 16 * part;
    store_rows<T, kHead>(queries + row * kTileStride<kHead>, sums[part], factor,
                         views.q_gradient.of(place.entry, place.head), first + row, shape.n_queries,
                         shape);
  }
}

// The logarithm to base 2 of a query's sum of exponentials; infinity, which makes all probabilities
// 0, if the query does not exist or has no keys.
__device__ __forceinline__ float query_logarithm(const HeadRows<const float>& log_sum, int query,
                                                 int n_queries) {
  const float found = query < n_queries ? *log_sum[query] : -INFINITY;
  return found == -INFINITY ? INFINITY : found * kLog2E;
}

// The probabilities (`score`) of kTiles times sixteen keys from `key` on (rows) and sixteen queries
// from `query` on (columns), and the gradients of the scores (`slope`). `logarithm` and `dot` are
// those of the queries. Keys past the limit are masked only if `masked`; otherwise their rows are
// undefined.
template <class T, int kHead, int kTiles, bool kHeld>
__device__ __forceinline__ void slopes_of_keys(float (&score)[kTiles][2][4],
                                               float (&slope)[kTiles][2][4],
                                               const RowFragments<T, kHead, kTiles, kHeld>& keys,
                                               const RowFragments<T, kHead, kTiles, kHeld>& values,
                                               const T* queries, const T* gradients, int row,
                                               const AttentionShape& shape, int key, int query,
                                               int limit, bool masked, const float* logarithm,
                                               const float* dot) {
  const int lane = threadIdx.x % 32;
  const float scale = static_cast<float>(shape.scale) * kLog2E;
#pragma unroll
  for (int j = 0; j < 8 * kTiles; ++j) {
    const int column = 8 * (j / 4 % 2) + 2 * (lane % 4) + j % 2;
    score[j / 8][j / 4 % 2][j % 4] = 0;
    slope[j / 8][j / 4 % 2][j % 4] = -dot[column];
  }
  multiply_rows(score, keys, queries, row);
  multiply_rows(slope, values, gradients, row);
#pragma unroll
  for (int j = 0; j < 8 * kTiles; ++j) {
    const int column = 8 * (j / 4 % 2) + 2 * (lane % 4) + j % 2;
    float& value = score[j / 8][j / 4 % 2][j % 4];
    value = power_of_2(value * scale - logarithm[column]);
    if (masked) {
      const int at = key + 16 * (j / 8) + 8 * (j / 2 % 2) + lane / 4;
      if (at >= shape.seen(query + column, limit)) value = 0;
    }
    slope[j / 8][j / 4 % 2][j % 4] *= value;
  }
}

// Writes a warp's gradients of keys and values through its rows of the tiles `keys` and `values`;
// those of keys past the limit are 0.
template <class T, int kHead, int kTiles>
__device__ __forceinline__ void store_key_gradients(float (&k_sums)[kTiles][kHead / 8][4],
                                                    float (&v_sums)[kTiles][kHead / 8][4], T* keys,
                                                    T* values, int warp_row,
                                                    const GradientViews<T>& views,
                                                    const TilePlace& place, int first, int limit,
                                                    const AttentionShape& shape) {
  const int lane = threadIdx.x % 32;
  const float one[2] = {1, 1};
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
#pragma unroll
  for (int part = 0; part < kTiles; ++part) {
    const int row = warp_row + 16 * part;
#pragma unroll
    for (int j = 0; j < kHead / 2; ++j) {
      if (first + row + lane / 4 + 8 * (j / 2 % 2) < limit) continue;
      k_sums[part][j / 4][j % 4] = 0;
      v_sums[part][j / 4][j % 4] = 0;
    }
    store_rows<T, kHead>(keys + row * kTileStride<kHead>, k_sums[part], factor,
                         views.k_gradient.of(place.entry, place.head), first + row, shape.n_keys,
                         shape);
    store_rows<T, kHead>(values + row * kTileStride<kHead>, v_sums[part], one,
                         views.v_gradient.of(place.entry, place.head), first + row, shape.n_keys,
                         shape);
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(GradientPlan<kHead>::kBlock, GradientPlan<kHead>::kKeyBlocks)
    flash_key_gradient_kernel(AttentionShape shape, GradientViews<T> views, const float* dots,
                              int n_tiles) {
  using Plan = GradientPlan<kHead>;
  constexpr int kBlock = Plan::kBlock;
  constexpr int kTiles = Plan::kTiles;
  constexpr int kQueries = Plan::kStreamed;
  constexpr int kElements = Plan::kStreamedBytes / 2;
  const TilePlace place(shape, n_tiles);
  const int first = place.tile * Plan::kRows;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> q = views.q.of(place.entry, place.head);
  const HeadRows<const T> gradient = views.gradient.of(place.entry, place.head);
  const HeadRows<const float> log_sum = views.log_sum.of(place.entry, place.head);
  T* keys = reinterpret_cast<T*>(shared_memory());
  T* values = keys + Plan::kRowBytes / 2;
  T* queries = values + Plan::kRowBytes / 2;
  T* gradients = queries + 2 * kElements;
  float* logarithms = reinterpret_cast<float*>(gradients + 2 * kElements);
  float* row_dots = logarithms + 2 * kQueries;

  // Earlier queries attend to none of the keys.
  const int before = shape.causal ? max(first - (shape.n_keys - shape.n_queries), 0) : 0;
  const int first_tile = before / kQueries;
  const int n_query_tiles =
      first < limit ? (shape.n_queries + kQueries - 1) / kQueries : first_tile;
  float logarithm = 0;  // of a query of the next tile, to be written to shared memory
  float row_dot = 0;
  const auto copy_queries = [&](int tile) {
    const int begin = tile * kQueries;
    const int stage = tile % 2;
    copy_tile<kHead, kQueries, kBlock>(queries + stage * kElements, q, begin, shape.n_queries,
                                       shape);
    copy_tile<kHead, kQueries, kBlock>(gradients + stage * kElements, gradient, begin,
                                       shape.n_queries, shape);
    const int query = begin + static_cast<int>(threadIdx.x) % kQueries;
    logarithm = query_logarithm(log_sum, query, shape.n_queries);
    row_dot = query < shape.n_queries ? dots[place.sequence * shape.n_queries + query] : 0.0f;
  };
  const auto store_statistics = [&](int tile) {
    if (threadIdx.x >= kQueries) return;
    logarithms[tile % 2 * kQueries + threadIdx.x] = logarithm;
    row_dots[tile % 2 * kQueries + threadIdx.x] = row_dot;
  };
  copy_tile<kHead, Plan::kRows, kBlock>(keys, views.k.of(place.entry, place.head), first, limit,
                                        shape);
  copy_tile<kHead, Plan::kRows, kBlock>(values, views.v.of(place.entry, place.head), first, limit,
                                        shape);
  end_copies();
  if (first_tile < n_query_tiles) {
    copy_queries(first_tile);
    store_statistics(first_tile);
  }
  end_copies();
  wait_for_copies<1>();
  __syncthreads();

  const int warp_row = threadIdx.x / 32 * 16 * kTiles;
  const RowFragments<T, kHead, kTiles, Plan::kHeld> key_rows(keys, warp_row);
  const RowFragments<T, kHead, kTiles, Plan::kHeld> value_rows(values, warp_row);
  float k_sums[kTiles][kHead / 8][4] = {};
  float v_sums[kTiles][kHead / 8][4] = {};
  for (int tile = first_tile; tile < n_query_tiles; ++tile) {
    wait_for_copies<0>();
    __syncthreads();  // this tile has arrived, the previous one has been read
    if (tile + 1 < n_query_tiles) copy_queries(tile + 1);
    end_copies();
    const T* query_tile = queries + tile % 2 * kElements;
    const T* gradient_tile = gradients + tile % 2 * kElements;
    const bool masked = shape.causal && shape.seen(tile * kQueries, limit) < first + Plan::kRows;
#pragma unroll
    for (int row = 0; row < kQueries; row += 16) {
      float score[kTiles][2][4];
      float slope[kTiles][2][4];
      const int at = tile % 2 * kQueries + row;
      slopes_of_keys(score, slope, key_rows, value_rows, query_tile, gradient_tile, row, shape,
                     first + warp_row, tile * kQueries + row, limit, masked, logarithms + at,
                     row_dots + at);
      std::uint32_t a[kTiles][4];
      as_rows<T>(a, score);
      add_rows<T, kHead>(v_sums, a, gradient_tile, row);
      as_rows<T>(a, slope);
      add_rows<T, kHead>(k_sums, a, query_tile, row);
    }
    if (tile + 1 < n_query_tiles) store_statistics(tile + 1);
  }
  store_key_gradients<T, kHead>(k_sums, v_sums, keys, values, warp_row, views, place, first, limit,
                                shape);
}

template <class T>
void run_flash_gradient(StreamView stream, const AttentionCall& call,
                        const AttentionGradients& gradients) {
  const AttentionShape shape =
      attention_shape(call.how, call.q, call.k, call.context, rows_are_aligned(call, gradients));
  const GradientViews<T> views = gradient_views<T>(call, gradients);
  const auto rows = static_cast<std::size_t>(shape.n_sequences * shape.n_queries);
  const Buffer dots = pool_of(stream.device()).allocate(rows * sizeof(float), stream);
  auto* to = reinterpret_cast<float*>(dots.data());
  dispatch_head(shape.head_size, [&](auto head) {
    using Plan = GradientPlan<head()>;
    const auto blocks = [&](int n_tiles) {
      return dim3(static_cast<unsigned>(shape.n_sequences * n_tiles));
    };
    const int query_tiles = (shape.n_queries + Plan::kRows - 1) / Plan::kRows;
    launch(
        {"attention_gradient", stream, blocks(query_tiles), dim3(Plan::kBlock), Plan::kQueryShared},
        flash_query_gradient_kernel<T, head()>, shape, views, to, query_tiles);
    const int key_tiles = (shape.n_keys + Plan::kRows - 1) / Plan::kRows;
    if (key_tiles == 0) return;
    launch({"attention_gradient", stream, blocks(key_tiles), dim3(Plan::kBlock), Plan::kKeyShared},
           flash_key_gradient_kernel<T, head()>, shape, views, to, key_tiles);
  });
}

// The gradients of sequences that fit one block; see whole_gradient.cu.
bool whole_gradient_fits(const AttentionShape& shape);
void whole_gradient(StreamView stream, const AttentionCall& call,
                    const AttentionGradients& gradients);

}  // namespace causeway::kernels::cuda
