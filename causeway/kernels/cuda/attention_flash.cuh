// The forward pass on tensor cores: tiles of 64 keys stream past a tile of 128 queries while a
// running maximum and sum keep the softmax exact. Operations: 4 a query, key and feature; bound by
// the tensor cores of mma.sync and the exponentials, by memory below some hundred keys.
#pragma once

#include "causeway/kernels/cuda/attention_tiles.cuh"

namespace causeway::kernels::cuda {

template <class T>
struct FlashForward {
  HeadView<const T> q, k, v;
  HeadView<T> out;
  HeadView<float> log_sum;
};

inline constexpr int kFlashQueries = 128;
inline constexpr int kFlashKeys = 64;

// A warp has one or two tiles of sixteen queries: two fetch a key once, where registers allow it.
template <int kHead>
struct FlashPlan {
  static constexpr int kTiles = kHead <= 64 ? 2 : 1;
  static constexpr int kWarps = kFlashQueries / 16 / kTiles;
  static constexpr int kBlock = kWarps * 32;
  static constexpr int kQueryBytes = kTileBytes<kHead, kFlashQueries>;
  static constexpr int kKeyBytes = kTileBytes<kHead, kFlashKeys>;
  static constexpr std::size_t kShared = kQueryBytes + 4 * kKeyBytes;
};

// Takes the scores of sixteen queries and kFlashKeys keys in; what came before is scaled down to
// the new maximum. Scores become probabilities times the sum so far.
template <int kHead>
struct RunningSoftmax {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};  // of this lane's columns

  __device__ __forceinline__ void take(float (&score)[kFlashKeys / 8][4],
                                       float (&out)[kHead / 8][4], float scale, bool masked,
                                       const int (&seen)[2]) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half];
#pragma unroll
      for (int tile = 0; tile < kFlashKeys / 8; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = score[tile][2 * half + i];
          value *= scale;
          if (masked && 8 * tile + 2 * t + i >= seen[half]) value = -INFINITY;
          most = fmaxf(most, value);
        }
      }
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float base = most == -INFINITY ? 0.0f : most;
      const float kept = power_of_2(largest[half] - base);
      largest[half] = most;
      float added = 0;
#pragma unroll
      for (int tile = 0; tile < kFlashKeys / 8; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& value = score[tile][2 * half + i];
          value = power_of_2(value - base);
          added += value;
        }
      }
      sum[half] = sum[half] * kept + added;
#pragma unroll
      for (int part = 0; part < kHead / 8; ++part) {
        out[part][2 * half] *= kept;
        out[part][2 * half + 1] *= kept;
      }
    }
  }
};

// Scores of kTiles times sixteen queries with the keys of a tile.
template <class T, int kHead, int kTiles>
__device__ __forceinline__ void score_tile(float (&score)[kTiles][kFlashKeys / 8][4],
                                           const std::uint32_t (&q)[kTiles][kHead / 16][4],
                                           const T* keys) {
#pragma unroll
  for (int key = 0; key < kFlashKeys / 16; ++key) {
#pragma unroll
    for (int step = 0; step < kHead / 16; ++step) {
      std::uint32_t b[4];
      load_matrices(b, right_first<kTileStride<kHead>>(keys, 16 * key, 16 * step));
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply<T>(score[tile][2 * key], q[tile][step], b[0], b[1]);
        multiply<T>(score[tile][2 * key + 1], q[tile][step], b[2], b[3]);
      }
    }
  }
}

// out += probabilities · values.
template <class T, int kHead, int kTiles>
__device__ __forceinline__ void weigh_tile(float (&out)[kTiles][kHead / 8][4],
                                           const float (&score)[kTiles][kFlashKeys / 8][4],
                                           const T* values) {
#pragma unroll
  for (int key = 0; key < kFlashKeys / 16; ++key) {
    std::uint32_t a[kTiles][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&pair)[4] = score[tile][2 * key + i / 2];
        a[tile][i] = pack<T>(pair[2 * (i % 2)], pair[2 * (i % 2) + 1]);
      }
    }
#pragma unroll
    for (int part = 0; part < kHead / 16; ++part) {
      std::uint32_t b[4];
      load_transposed(b, down_first<kTileStride<kHead>>(values, 16 * key, 16 * part));
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        multiply<T>(out[tile][2 * part], a[tile], b[0], b[1]);
        multiply<T>(out[tile][2 * part + 1], a[tile], b[2], b[3]);
      }
    }
  }
}

template <class T, int kHead>
__global__ void __launch_bounds__(FlashPlan<kHead>::kBlock)
    flash_attention_kernel(AttentionShape shape, FlashForward<T> views, int n_tiles) {
  using Plan = FlashPlan<kHead>;
  constexpr int kTiles = Plan::kTiles;
  constexpr int kBlock = Plan::kBlock;
  const TilePlace place(shape, n_tiles);
  // The last tiles see most keys under a causal mask: they begin first.
  const int first = (n_tiles - 1 - place.tile) * kFlashQueries;
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* keys = queries + Plan::kQueryBytes / 2;
  T* values = keys + Plan::kKeyBytes;  // two tiles of keys before it
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
  std::uint32_t q[kTiles][kHead / 16][4];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int step = 0; step < kHead / 16; ++step) {
      load_matrices(q[tile][step],
                    down_first<kTileStride<kHead>>(queries, warp_row + 16 * tile, 16 * step));
    }
  }
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  RunningSoftmax<kHead> softmax[kTiles];
  float out[kTiles][kHead / 8][4] = {};
  for (int i = 0; i < n_key_tiles; ++i) {
    const int begin = i * kFlashKeys;
    if (i + 1 < n_key_tiles) {
      const int stage = (i + 1) % 2 * kKeyElements;
      copy_tile<kHead, kFlashKeys, kBlock>(keys + stage, k, begin + kFlashKeys, limit, shape);
      copy_tile<kHead, kFlashKeys, kBlock>(values + stage, v, begin + kFlashKeys, limit, shape);
    }
    end_copies();
    wait_for_copies<1>();
    __syncthreads();
    float score[kTiles][kFlashKeys / 8][4] = {};
    score_tile<T, kHead, kTiles>(score, q, keys + i % 2 * kKeyElements);
    const bool masked = shape.seen(first, limit) < begin + kFlashKeys;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const int query = first + warp_row + 16 * tile + lane / 4;
      const int seen[2] = {shape.seen(query, limit) - begin, shape.seen(query + 8, limit) - begin};
      softmax[tile].take(score[tile], out[tile], scale, masked, seen);
    }
    weigh_tile<T, kHead, kTiles>(out, score, values + i % 2 * kKeyElements);
    __syncthreads();
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
        *log_sum[query] = (softmax[tile].largest[half] + log2f(sum)) * kLn2;
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
