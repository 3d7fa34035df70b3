// The gradients of attention for short sequences in one kernel, from device memory to registers and
// back: first those of k and v for tiles of keys, then, with the transposed scores recomputed,
// those of q for tiles of queries. Every sum stays in one warp, in a fixed order. Bytes: five
// inputs and three results once; bound by memory.
#include "causeway/kernels/attention/paths.h"
#include "causeway/kernels/attention/small.cuh"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

namespace {

// The operands of one sequence, or of two.
template <class T, bool kPaired>
struct SmallSequence {
  TileRows<const T, kPaired> q, k, v, out, gradient;
  TileRows<const float, kPaired> log_sum;
  int limit;

  __device__ __forceinline__ SmallSequence(const GradientViews<T>& views,
                                           const SmallPlace<kPaired>& place,
                                           const AttentionShape& shape)
      : q(views.q, place.entry, place.head),
        k(views.k, place.entry, place.head),
        v(views.v, place.entry, place.head),
        out(views.out, place.entry, place.head),
        gradient(views.gradient, place.entry, place.head),
        log_sum(views.log_sum, place.entry, place.head),
        limit(shape.limit(place.entry)) {}

  // In base 2; 0 for missing rows.
  __device__ __forceinline__ float logarithm(int query, const AttentionShape& shape) const {
    return log_sum.has(query, shape.n_queries) ? *log_sum[query] * kLog2E : 0.0f;
  }
  // Also false for missing queries.
  __device__ __forceinline__ bool sees(int query, int key, const AttentionShape& shape) const {
    return q.has(query, shape.n_queries) && cuda::sees<kPaired>(shape, query, key, limit);
  }
};

// Loads one word of every row of the sequence first: the rows are then fetched into L1 together,
// instead of one product after the other.
template <class T, bool kPaired>
struct Prefetched {
  std::uint32_t word[5] = {};

  __device__ __forceinline__ void touch(int which, const TileRows<const T, kPaired>& rows,
                                        int n_rows) {
    const int row = threadIdx.x % (kPaired ? 16 : 32);
    if (!rows.has(row, n_rows)) return;
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(word[which]) : "l"(rows[row]));
  }
  __device__ __forceinline__ Prefetched(const SmallSequence<T, kPaired>& sequence,
                                        const AttentionShape& shape) {
    touch(0, sequence.gradient, shape.n_queries);
    touch(1, sequence.out, shape.n_queries);
    touch(2, sequence.q, shape.n_queries);
    touch(3, sequence.k, sequence.limit);
    touch(4, sequence.v, sequence.limit);
  }
  // Keeps the compiler from removing the loads.
  __device__ __forceinline__ void keep_alive() const {
#pragma unroll
    for (int i = 0; i < 5; ++i) asm volatile("" ::"r"(word[i]));
  }
};

// Dot product of gradient and out for query 8 * tile + g, in all four lanes of the row.
template <int kGroups, class T, bool kPaired>
__device__ __forceinline__ float row_dot(const SmallSequence<T, kPaired>& sequence, int query,
                                         const AttentionShape& shape) {
  float sum = 0;
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    std::uint32_t gradient[4];
    std::uint32_t out[4];
    load_row(gradient, sequence.gradient, query, shape.n_queries, group, shape);
    load_row(out, sequence.out, query, shape.n_queries, group, shape);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 a = unpack<T>(gradient[i]);
      const float2 b = unpack<T>(out[i]);
      sum += a.x * b.x + a.y * b.y;
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
}

// Scores and gradients of probabilities, for sixteen rows of one side and eight of the other.
template <class T, int kGroups, bool kPaired>
__device__ __forceinline__ void products(float (&score)[4], float (&slope)[4],
                                         const RowTile<T, kGroups>& score_rows,
                                         const RowTile<T, kGroups>& slope_rows,
                                         const TileRows<const T, kPaired>& score_columns,
                                         const TileRows<const T, kPaired>& slope_columns, int row,
                                         int n_rows, const AttentionShape& shape) {
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    std::uint32_t b[4];
    load_row(b, score_columns, row, n_rows, group, shape);
    multiply<T>(score, score_rows.a[2 * group], b[0], b[1]);
    multiply<T>(score, score_rows.a[2 * group + 1], b[2], b[3]);
    load_row(b, slope_columns, row, n_rows, group, shape);
    multiply<T>(slope, slope_rows.a[2 * group], b[0], b[1]);
    multiply<T>(slope, slope_rows.a[2 * group + 1], b[2], b[3]);
  }
}

// Whether eight rows are all missing; not checked for the first tiles, which never are.
template <int kRows>
__device__ __forceinline__ bool is_empty(int tile, int n_rows) {
  return tile > kRows && 8 * tile >= n_rows;
}

// The gradients of sixteen keys and values; rows are keys, columns queries.
template <int kGroups, int kRows, class T, bool kPaired>
__device__ __forceinline__ void key_gradients(const SmallSequence<T, kPaired>& sequence, int first,
                                              const float (&dots)[2 * kRows],
                                              const TileRows<T, kPaired>& k_gradient,
                                              const TileRows<T, kPaired>& v_gradient,
                                              const AttentionShape& shape) {
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  std::uint32_t probability[kRows][4];
  std::uint32_t step[kRows][4];
  {
    const RowTile<T, kGroups> keys(sequence.k, first, sequence.limit, shape);
    const RowTile<T, kGroups> values(sequence.v, first, sequence.limit, shape);
#pragma unroll
    for (int tile = 0; tile < 2 * kRows; ++tile) {
      if (is_empty<kRows>(tile, shape.n_queries)) {
        probability[tile / 2][2 * (tile % 2)] = probability[tile / 2][2 * (tile % 2) + 1] = 0;
        step[tile / 2][2 * (tile % 2)] = step[tile / 2][2 * (tile % 2) + 1] = 0;
        continue;
      }
      float score[4] = {};
      float slope[4] = {};
      products(score, slope, keys, values, sequence.q, sequence.gradient, 8 * tile + g,
               shape.n_queries, shape);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int query = 8 * tile + 2 * t + i;
        const float dot = __shfl_sync(0xffffffffu, dots[tile], 8 * t + 4 * i);
        const float logarithm = sequence.logarithm(query, shape);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = 2 * half + i;
          const bool seen = sequence.sees(query, first + g + 8 * half, shape);
          score[at] = seen ? power_of_2(score[at] * scale - logarithm) : 0.0f;
          slope[at] = score[at] * (slope[at] - dot);
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int word = 2 * (tile % 2) + half;
        probability[tile / 2][word] = pack<T>(score[2 * half], score[2 * half + 1]);
        step[tile / 2][word] = pack<T>(slope[2 * half], slope[2 * half + 1]);
      }
    }
  }
  ColumnSums<kGroups> k_sum;
  ColumnSums<kGroups> v_sum;
#pragma unroll
  for (int rows = 0; rows < kRows; ++rows) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      PairTile<T> pairs;
      pairs.load(sequence.gradient, 16 * rows, shape.n_queries, group, shape);
      v_sum.add(probability[rows], pairs, group);
      pairs.load(sequence.q, 16 * rows, shape.n_queries, group, shape);
      k_sum.add(step[rows], pairs, group);
    }
  }
  const float one[2] = {1, 1};
  const float scaled[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  k_sum.store(k_gradient, first, shape.n_keys, scaled, shape);
  v_sum.store(v_gradient, first, shape.n_keys, one, shape);
}

// The gradients of sixteen queries; rows are queries, columns keys.
template <int kGroups, int kRows, class T, bool kPaired>
__device__ __forceinline__ void query_gradients(const SmallSequence<T, kPaired>& sequence,
                                                int first, const float (&dots)[2 * kRows],
                                                const TileRows<T, kPaired>& q_gradient,
                                                const AttentionShape& shape) {
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  const float scale = static_cast<float>(shape.scale) * kLog2E;
  float dot[2] = {};
  float logarithm[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int tile = 0; tile < 2 * kRows; ++tile) {
      if (8 * tile == first + 8 * half) dot[half] = dots[tile];
    }
    logarithm[half] = sequence.logarithm(first + g + 8 * half, shape);
  }
  std::uint32_t step[kRows][4];
  {
    const RowTile<T, kGroups> queries(sequence.q, first, shape.n_queries, shape);
    const RowTile<T, kGroups> gradients(sequence.gradient, first, shape.n_queries, shape);
#pragma unroll
    for (int tile = 0; tile < 2 * kRows; ++tile) {
      if (is_empty<kRows>(tile, shape.n_keys)) {
        step[tile / 2][2 * (tile % 2)] = step[tile / 2][2 * (tile % 2) + 1] = 0;
        continue;
      }
      float score[4] = {};
      float slope[4] = {};
      products(score, slope, queries, gradients, sequence.k, sequence.v, 8 * tile + g,
               sequence.limit, shape);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int half = i / 2;
        const int key = 8 * tile + 2 * t + i % 2;
        const bool seen = sequence.sees(first + g + 8 * half, key, shape);
        score[i] = seen ? power_of_2(score[i] * scale - logarithm[half]) : 0.0f;
        slope[i] = score[i] * (slope[i] - dot[half]);
      }
      step[tile / 2][2 * (tile % 2)] = pack<T>(slope[0], slope[1]);
      step[tile / 2][2 * (tile % 2) + 1] = pack<T>(slope[2], slope[3]);
    }
  }
  ColumnSums<kGroups> q_sum;
#pragma unroll
  for (int rows = 0; rows < kRows; ++rows) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      PairTile<T> pairs;
      pairs.load(sequence.k, 16 * rows, sequence.limit, group, shape);
      q_sum.add(step[rows], pairs, group);
    }
  }
  const float scaled[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  q_sum.store(q_gradient, first, shape.n_queries, scaled, shape);
}

// kGroups: features / 32; kTiles: tiles of 16 rows of either side per warp; kRows: tiles of 16 rows
// of the longer side.
template <class T, int kGroups, int kTiles, int kRows, bool kPaired>
__global__ void __launch_bounds__(kSmallWarps * 32, kGroups == 1 && kRows <= 2 ? 5 : 1)
    small_attention_gradient_kernel(AttentionShape shape, GradientViews<T> views, int n_parts) {
  const SmallPlace<kPaired> place(shape, n_parts);
  if (place.sequence >= shape.n_sequences) return;
  const SmallSequence<T, kPaired> sequence(views, place, shape);
  const Prefetched<T, kPaired> prefetched(sequence, shape);
  const int g = threadIdx.x % 32 / 4;
  float dots[2 * kRows];
#pragma unroll
  for (int tile = 0; tile < 2 * kRows; ++tile) {
    dots[tile] = row_dot<kGroups>(sequence, 8 * tile + g, shape);
  }
  const TileRows<T, kPaired> q_gradient(views.q_gradient, place.entry, place.head);
  const TileRows<T, kPaired> k_gradient(views.k_gradient, place.entry, place.head);
  const TileRows<T, kPaired> v_gradient(views.v_gradient, place.entry, place.head);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const int first = (place.part * kTiles + tile) * 16;
    if (first < shape.n_keys) {
      key_gradients<kGroups, kRows>(sequence, first, dots, k_gradient, v_gradient, shape);
    }
    if (first < shape.n_queries) {
      query_gradients<kGroups, kRows>(sequence, first, dots, q_gradient, shape);
    }
  }
  prefetched.keep_alive();
}

template <class T>
void run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const GradientViews<T> views = gradient_views<T>(call, gradients);
  dispatch_small(shape, [&](auto groups, auto, auto rows, auto paired) {
    // One tile per warp: the sums of one tile do not wait for the loads of another.
    constexpr std::integral_constant<int, 1> tiles;
    const int longer = shape.n_queries > shape.n_keys ? shape.n_queries : shape.n_keys;
    const int n_parts = (longer + 16 * tiles() - 1) / (16 * tiles());
    launch({"attention_gradient", stream, dim3(small_blocks(shape, n_parts, paired())),
            dim3(kSmallWarps * 32)},
           small_attention_gradient_kernel<T, groups(), tiles(), rows(), paired()>, shape, views,
           n_parts);
  });
}

}  // namespace

void small_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call, gradients);
  run<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
