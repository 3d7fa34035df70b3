// The forward pass on tensor cores: tiles of 64 keys stream past a tile of 128 queries, with a
// running maximum and sum for the softmax. Operations: 4 per query, key and feature. Bound by the
// tensor cores (mma.sync) and the exponentials (24 features, 1000 rows: 0.4 of the exponentials'
// limit), by memory below a few hundred keys.
#pragma once

#include "causeway/kernels/attention/tiles.cuh"

#include <cfloat>

namespace causeway::kernels::cuda {

template <class T>
struct FlashForward {
  HeadView<const T> q, k, v;
  HeadView<T> out;
  HeadView<float> log_sum;
};

inline constexpr int kFlashQueries = 128;
inline constexpr int kFlashKeys = 64;

// A warp has one or two tiles of sixteen queries; with two, each key is fetched once for both, if
// registers allow.
template <int kHead>
struct FlashPlan {
  static constexpr int kTiles = kHead <= 32 ? 2 : 1;
  static constexpr int kWarps = kFlashQueries / 16 / kTiles;
  static constexpr int kBlock = kWarps * 32;
  static constexpr int kBlocks =
      kHead <= 24 ? 4 : (kHead <= 32 ? 3 : (kHead <= 64 ? 2 : 1));  // see GradientPlan
  static constexpr int kQueryBytes = kTileBytes<kHead, kFlashQueries>;
  static constexpr int kKeyBytes = kTileBytes<kHead, kFlashKeys>;
  static constexpr std::size_t kShared = kQueryBytes + 4 * kKeyBytes;
};

// Masks the keys of a tile that a query does not attend to.
__device__ __forceinline__ void mask_keys(float (&score)[kFlashKeys / 8][4], const int (&seen)[2]) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < kFlashKeys / 2; ++j) {
    const int key = 8 * (j / 4) + 2 * t + j % 2;
    if (key >= seen[j / 2 % 2]) score[j / 4][j % 4] = -INFINITY;
  }
}

// Adds the scores of sixteen queries and kFlashKeys keys; earlier results are rescaled to the new
// maximum. Scores become unnormalised probabilities. The scale is positive.
template <int kHead>
struct RunningSoftmax {
  float largest[2] = {-INFINITY, -INFINITY};  // before scaling
  float sum[2] = {0, 0};                      // over this lane's columns

  __device__ __forceinline__ void update(float (&score)[kFlashKeys / 8][4],
                                         float (&out)[kHead / 8][4], float scale) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half];
#pragma unroll
      for (int tile = 0; tile < kFlashKeys / 8; ++tile) {
        most = fmaxf(most, fmaxf(score[tile][2 * half], score[tile][2 * half + 1]));
      }
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float base = most == -INFINITY ? 0.0f : most * scale;
      const float rescale = power_of_2(largest[half] * scale - base);
      largest[half] = most;
      float added = 0;
#pragma unroll
      for (int tile = 0; tile < kFlashKeys / 8; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = score[tile][2 * half + i];
          value = power_of_2(value * scale - base);
          added += value;
        }
      }
      sum[half] = sum[half] * rescale + added;
#pragma unroll
      for (int part = 0; part < kHead / 8; ++part) {
        out[part][2 * half] *= rescale;
        out[part][2 * half + 1] *= rescale;
      }
    }
  }
};

template <class T, int kHead>
__global__ void __launch_bounds__(FlashPlan<kHead>::kBlock, FlashPlan<kHead>::kBlocks)
    flash_attention_kernel(AttentionShape shape, FlashForward<T> views, int n_tiles) {
  using Plan = FlashPlan<kHead>;
  constexpr int kTiles = Plan::kTiles;
  constexpr int kBlock = Plan::kBlock;
  const TilePlace place(shape, n_tiles);
  // With a causal mask the last tiles have most keys: they start first.
  const int first = (n_tiles - 1 - place.tile) * kFlashQueries;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* keys = queries + Plan::kQueryBytes / 2;
  T* values = keys + Plan::kKeyBytes;  // after two tiles of keys
  constexpr int kKeyElements = Plan::kKeyBytes / 2;

  const int last = min(first + kFlashQueries, shape.n_queries) - 1;
  const int n_key_tiles = (max(shape.seen(last, limit), 0) + kFlashKeys - 1) / kFlashKeys;
  copy_tile<kHead, kFlashQueries, kBlock>(queries, views.q.of(place.entry, place.head), first,
                                          shape.n_queries, shape);
  end_copies();
  if (n_key_tiles > 0) {
    copy_tile<kHead, kFlashKeys, kBlock>(keys, k, 0, limit, shape);
    copy_tile<kHead, kFlashKeys, kBlock>(values, v, 0, limit, shape);
  }
  end_copies();
  wait_for_copies<1>();
  __syncthreads();

  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16 * kTiles;
  RowFragments<T, kHead, kTiles, true> query_rows(queries, warp_row);
  if (shape.scale < 0) query_rows.negate();
  const float scale = fmaxf(fabsf(static_cast<float>(shape.scale)) * kLog2E, FLT_MIN);
  RunningSoftmax<kHead> softmax[kTiles];
  float out[kTiles][kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    const int begin = i * kFlashKeys;
    wait_for_copies<0>();
    __syncthreads();  // this tile has arrived, the previous one has been read
    if (i + 1 < n_key_tiles) {
      const int stage = (i + 1) % 2 * kKeyElements;
      copy_tile<kHead, kFlashKeys, kBlock>(keys + stage, k, begin + kFlashKeys, limit, shape);
      copy_tile<kHead, kFlashKeys, kBlock>(values + stage, v, begin + kFlashKeys, limit, shape);
    }
    end_copies();
    float score[kTiles][kFlashKeys / 8][4] = {};
#pragma unroll
    for (int row = 0; row < kFlashKeys; row += 16) {
      multiply_rows(score, query_rows, keys + i % 2 * kKeyElements, row, row / 8);
    }
    if (shape.seen(first, limit) < begin + kFlashKeys) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const int query = first + warp_row + 16 * tile + lane / 4;
        mask_keys(score[tile],
                  {shape.seen(query, limit) - begin, shape.seen(query + 8, limit) - begin});
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) softmax[tile].update(score[tile], out[tile], scale);
#pragma unroll
    for (int row = 0; row < kFlashKeys; row += 16) {
      std::uint32_t a[kTiles][4];
      as_rows<T>(a, score, row / 8);
      add_rows<T, kHead>(out, a, values + i % 2 * kKeyElements, row);
    }
  }

  const HeadRows<T> to = views.out.of(place.entry, place.head);
  const HeadRows<float> log_sum = views.log_sum.of(place.entry, place.head);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const int row = warp_row + 16 * tile;
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = softmax[tile].sum[half];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      factor[half] = sum == 0 ? 0.0f : 1 / sum;
      const int query = first + row + lane / 4 + 8 * half;
      if (lane % 4 == 0 && query < shape.n_queries && log_sum.data != nullptr) {
        *log_sum[query] = (softmax[tile].largest[half] * scale + log2f(sum)) * kLn2;
      }
    }
    store_rows<T, kHead>(queries + row * kTileStride<kHead>, out[tile], factor, to, first + row,
                         shape.n_queries, shape);
  }
}

template <class T>
void run_flash_attention(StreamView stream, const AttentionCall& call) {
  const AttentionShape shape =
      attention_shape(call.how, call.q, call.k, call.context, rows_are_aligned(call));
  const FlashForward<T> views{HeadView<const T>(call.q), HeadView<const T>(call.k),
                              HeadView<const T>(call.v), HeadView<T>(call.out),
                              HeadView<float>(call.log_sum)};
  const int n_tiles = (shape.n_queries + kFlashQueries - 1) / kFlashQueries;
  dispatch_head(shape.head_size, [&](auto head) {
    using Plan = FlashPlan<head()>;
    launch({"attention", stream, dim3(static_cast<unsigned>(shape.n_sequences * n_tiles)),
            dim3(Plan::kBlock), Plan::kShared},
           flash_attention_kernel<T, head()>, shape, views, n_tiles);
  });
}

}  // namespace causeway::kernels::cuda
