// The gradients on tensor cores, without atomics: a block for each tile of queries sums theirs (and
// gradient · out of each row, which it leaves behind), then one for each tile of keys sums those of
// keys and values; either computes the scores again. Operations: 14 a query, key and feature; bound
// by the tensor cores.
#pragma once

#include "causeway/kernels/cuda/attention_tiles.cuh"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

// Tiles of 64 rows stand, four warps of sixteen each; tiles of the other side pass by.
template <int kHead>
struct GradientPlan {
  static constexpr int kWarps = 4;
  static constexpr int kBlock = kWarps * 32;
  static constexpr int kRows = kWarps * 16;               // of the side that stands
  static constexpr int kPassing = kHead <= 64 ? 64 : 32;  // of the side that passes
  static constexpr bool kHeld = kHead <= 64;              // in registers
  static constexpr int kRowBytes = kTileBytes<kHead, kRows>;
  static constexpr int kPassingBytes = kTileBytes<kHead, kPassing>;
  static constexpr std::size_t kQueryShared = 2 * kRowBytes + 4 * kPassingBytes;
  // The logarithms and dots of two tiles of queries come last.
  static constexpr std::size_t kKeyShared = kQueryShared + 4 * kPassing * sizeof(float);
};

template <class T, int kHead>
__global__ void __launch_bounds__(GradientPlan<kHead>::kBlock)
    flash_query_gradient_kernel(AttentionShape shape, GradientViews<T> views, float* dots,
                                int n_tiles) {
  using Plan = GradientPlan<kHead>;
  constexpr int kBlock = Plan::kBlock;
  constexpr int kKeys = Plan::kPassing;
  constexpr int kElements = Plan::kPassingBytes / 2;
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
  const int warp_row = threadIdx.x / 32 * 16;
  float dot[2];
  row_dots<T, kHead>(dot, gradient, views.out.of(place.entry, place.head), first + warp_row,
                     shape.n_queries, shape);
  float logarithm[2];
  int seen[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = first + warp_row + lane / 4 + 8 * half;
    const bool there = query < shape.n_queries;
    logarithm[half] = there ? *views.log_sum.of(place.entry, place.head)[query] * kLog2E : 0.0f;
    seen[half] = there ? shape.seen(query, limit) : 0;
    if (there && lane % 4 == 0) dots[place.sequence * shape.n_queries + query] = dot[half];
  }
  wait_for_copies<1>();
  __syncthreads();
  const RowFragments<T, kHead, Plan::kHeld> query_rows(queries, warp_row);
  const RowFragments<T, kHead, Plan::kHeld> gradient_rows(gradients, warp_row);
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float sums[kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    const int begin = i * kKeys;
    if (i + 1 < n_key_tiles) {
      const int stage = (i + 1) % 2 * kElements;
      copy_tile<kHead, kKeys, kBlock>(keys + stage, k, begin + kKeys, limit, shape);
      copy_tile<kHead, kKeys, kBlock>(values + stage, v, begin + kKeys, limit, shape);
    }
    end_copies();
    wait_for_copies<1>();
    __syncthreads();
    const T* key_tile = keys + i % 2 * kElements;
    const T* value_tile = values + i % 2 * kElements;
#pragma unroll
    for (int row = 0; row < kKeys; row += 16) {
      float score[2][4] = {};
      float slope[2][4] = {};
      multiply_rows(score, query_rows, key_tile, row);
      multiply_rows(slope, gradient_rows, value_tile, row);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const int half = j / 2 % 2;
        const int key = begin + row + 8 * (j / 4) + 2 * (lane % 4) + j % 2;
        const float p =
            key < seen[half] ? power_of_2(score[j / 4][j % 4] * scale - logarithm[half]) : 0.0f;
        slope[j / 4][j % 4] = p * (slope[j / 4][j % 4] - dot[half]);
      }
      std::uint32_t a[4];
      as_rows<T>(a, slope);
      add_rows<T, kHead>(sums, a, key_tile, row);
    }
    __syncthreads();
  }
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  store_rows<T, kHead>(queries + warp_row * kTileStride<kHead>, sums, factor,
                       views.q_gradient.of(place.entry, place.head), first + warp_row,
                       shape.n_queries, shape);
}

// Scores (rows are keys, columns queries) to probabilities, and their gradients to those of scores.
// `logarithm` and `dot` are of the sixteen queries from `query` on.
__device__ __forceinline__ void soften_keys(float (&score)[2][4], float (&slope)[2][4],
                                            const AttentionShape& shape, int key, int query,
                                            int limit, float scale, const float* logarithm,
                                            const float* dot) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int column = 8 * tile + 2 * t + i;
      const int seen = query + column < shape.n_queries ? shape.seen(query + column, limit) : 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& value = score[tile][2 * half + i];
        value = key + 8 * half < seen ? power_of_2(value * scale - logarithm[column]) : 0.0f;
        slope[tile][2 * half + i] = value * (slope[tile][2 * half + i] - dot[column]);
      }
    }
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(GradientPlan<kHead>::kBlock)
    flash_key_gradient_kernel(AttentionShape shape, GradientViews<T> views, const float* dots,
                              int n_tiles) {
  using Plan = GradientPlan<kHead>;
  constexpr int kBlock = Plan::kBlock;
  constexpr int kQueries = Plan::kPassing;
  constexpr int kElements = Plan::kPassingBytes / 2;
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

  // The queries before these see none of the keys.
  const int before = shape.causal ? max(first - (shape.n_keys - shape.n_queries), 0) : 0;
  const int first_tile = before / kQueries;
  const int n_query_tiles =
      first < limit ? (shape.n_queries + kQueries - 1) / kQueries : first_tile;
  const auto copy_queries = [&](int tile) {
    const int begin = tile * kQueries;
    const int stage = tile % 2;
    copy_tile<kHead, kQueries, kBlock>(queries + stage * kElements, q, begin, shape.n_queries,
                                       shape);
    copy_tile<kHead, kQueries, kBlock>(gradients + stage * kElements, gradient, begin,
                                       shape.n_queries, shape);
    const int row = static_cast<int>(threadIdx.x);
    if (row < kQueries) {
      const bool there = begin + row < shape.n_queries;
      logarithms[stage * kQueries + row] = there ? *log_sum[begin + row] * kLog2E : 0.0f;
      row_dots[stage * kQueries + row] =
          there ? dots[place.sequence * shape.n_queries + begin + row] : 0.0f;
    }
  };
  copy_tile<kHead, Plan::kRows, kBlock>(keys, views.k.of(place.entry, place.head), first, limit,
                                        shape);
  copy_tile<kHead, Plan::kRows, kBlock>(values, views.v.of(place.entry, place.head), first, limit,
                                        shape);
  end_copies();
  if (first_tile < n_query_tiles) copy_queries(first_tile);
  end_copies();
  wait_for_copies<1>();
  __syncthreads();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  const RowFragments<T, kHead, Plan::kHeld> key_rows(keys, warp_row);
  const RowFragments<T, kHead, Plan::kHeld> value_rows(values, warp_row);
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float k_sums[kHead / 8][4] = {};
  float v_sums[kHead / 8][4] = {};
  for (int tile = first_tile; tile < n_query_tiles; ++tile) {
    if (tile + 1 < n_query_tiles) copy_queries(tile + 1);
    end_copies();
    wait_for_copies<1>();
    __syncthreads();
    const T* query_tile = queries + tile % 2 * kElements;
    const T* gradient_tile = gradients + tile % 2 * kElements;
#pragma unroll
    for (int row = 0; row < kQueries; row += 16) {
      float score[2][4] = {};
      float slope[2][4] = {};
      multiply_rows(score, key_rows, query_tile, row);
      multiply_rows(slope, value_rows, gradient_tile, row);
      const int at = tile % 2 * kQueries + row;
      soften_keys(score, slope, shape, first + warp_row + lane / 4, tile * kQueries + row, limit,
                  scale, logarithms + at, row_dots + at);
      std::uint32_t a[4];
      as_rows<T>(a, score);
      add_rows<T, kHead>(v_sums, a, gradient_tile, row);
      as_rows<T>(a, slope);
      add_rows<T, kHead>(k_sums, a, query_tile, row);
    }
    __syncthreads();
  }
  const float one[2] = {1, 1};
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  store_rows<T, kHead>(keys + warp_row * kTileStride<kHead>, k_sums, factor,
                       views.k_gradient.of(place.entry, place.head), first + warp_row, shape.n_keys,
                       shape);
  store_rows<T, kHead>(values + warp_row * kTileStride<kHead>, v_sums, one,
                       views.v_gradient.of(place.entry, place.head), first + warp_row, shape.n_keys,
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

// The gradients of sequences that fit one block; see attention_whole_gradient.cu.
bool whole_gradient_fits(const AttentionShape& shape);
void whole_gradient(StreamView stream, const AttentionCall& call,
                    const AttentionGradients& gradients);

}  // namespace causeway::kernels::cuda
