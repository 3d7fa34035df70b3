// Attention for sequences of up to 64 rows: a warp holds a whole sequence of up to 32 rows, four
// warps share a longer one, and no intermediate values are written. Bytes: q, k, v and the result
// once; bound by memory.
#include "causeway/kernels/attention/paths.h"
#include "causeway/kernels/attention/small.cuh"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

namespace {

template <class T>
struct SmallForward {
  HeadView<const T> q, k, v;
  HeadView<T> out;
  HeadView<float> log_sum;
};

// Replaces the scores of sixteen queries and 8 * kKeyTiles keys by unnormalised probabilities;
// index [half] selects rows g and g + 8.
template <bool kPaired, int kKeyTiles>
__device__ __forceinline__ void apply_softmax(float (&score)[kKeyTiles][4],
                                              const AttentionShape& shape, int query, int limit,
                                              float (&largest)[2], float (&sum)[2]) {
  const int t = threadIdx.x % 4;
  const float scale = static_cast<float>(shape.scale) * kLog2E;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float most = -INFINITY;
#pragma unroll
    for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& value = score[tile][2 * half + i];
        const int key = 8 * tile + 2 * t + i;
        value = sees<kPaired>(shape, query + 8 * half, key, limit) ? value * scale : -INFINITY;
        most = fmaxf(most, value);
      }
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    const float base = most == -INFINITY ? 0.0f : most;
    float total = 0;
#pragma unroll
    for (int tile = 0; tile < kKeyTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& value = score[tile][2 * half + i];
        value = power_of_2(value - base);
        total += value;
      }
    }
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    largest[half] = most;
    sum[half] = total;
  }
}

// kGroups: features / 32; kTiles: tiles of 16 queries per warp; kKeys: tiles of 16 keys.
template <class T, int kGroups, int kTiles, int kKeys, bool kPaired>
__global__ void __launch_bounds__(kSmallWarps * 32)
    small_attention_kernel(AttentionShape shape, SmallForward<T> views, int n_parts) {
  constexpr int kKeyTiles = 2 * kKeys;
  const SmallPlace<kPaired> place(shape, n_parts);
  if (place.sequence >= shape.n_sequences) return;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  const int limit = shape.limit(place.entry);
  const TileRows<const T, kPaired> q(views.q, place.entry, place.head);
  const TileRows<const T, kPaired> k(views.k, place.entry, place.head);
  const TileRows<const T, kPaired> v(views.v, place.entry, place.head);
  const int first = place.part * kTiles * 16;

  float score[kTiles][kKeyTiles][4] = {};
  {
    std::uint32_t queries[kTiles][2 * kGroups][4];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const RowTile<T, kGroups> rows(q, first + 16 * tile, shape.n_queries, shape);
      memcpy(queries[tile], rows.a, sizeof(rows.a));
    }
#pragma unroll
    for (int key = 0; key < kKeyTiles; ++key) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        std::uint32_t b[4];
        load_row(b, k, 8 * key + g, limit, group, shape);
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          multiply<T>(score[tile][key], queries[tile][2 * group], b[0], b[1]);
          multiply<T>(score[tile][key], queries[tile][2 * group + 1], b[2], b[3]);
        }
      }
    }
  }
  PairTile<T> values[kKeys][kGroups];
#pragma unroll
  for (int key = 0; key < kKeys; ++key) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      values[key][group].load(v, 16 * key, limit, group, shape);
    }
  }
  const TileRows<T, kPaired> out(views.out, place.entry, place.head);
  const TileRows<float, kPaired> log_sum(views.log_sum, place.entry, place.head);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    const int query = first + 16 * tile + g;
    float largest[2];
    float sum[2];
    apply_softmax<kPaired>(score[tile], shape, query, limit, largest, sum);
    ColumnSums<kGroups> sums;
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      const std::uint32_t a[4] = {
          pack<T>(score[tile][2 * key][0], score[tile][2 * key][1]),
          pack<T>(score[tile][2 * key][2], score[tile][2 * key][3]),
          pack<T>(score[tile][2 * key + 1][0], score[tile][2 * key + 1][1]),
          pack<T>(score[tile][2 * key + 1][2], score[tile][2 * key + 1][3])};
#pragma unroll
      for (int group = 0; group < kGroups; ++group) sums.add(a, values[key][group], group);
    }
    const float factor[2] = {sum[0] == 0 ? 0.0f : 1 / sum[0], sum[1] == 0 ? 0.0f : 1 / sum[1]};
    sums.store(out, first + 16 * tile, shape.n_queries, factor, shape);
    if (t != 0 || views.log_sum.data == nullptr) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (!log_sum.has(query + 8 * half, shape.n_queries)) continue;
      *log_sum[query + 8 * half] = (largest[half] + log2f(sum[half])) * kLn2;
    }
  }
}

template <class T>
void run(StreamView stream, const AttentionCall& call) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const SmallForward<T> views{HeadView<const T>(call.q), HeadView<const T>(call.k),
                              HeadView<const T>(call.v), HeadView<T>(call.out),
                              HeadView<float>(call.log_sum)};
  dispatch_small(shape, [&](auto groups, auto tiles, auto keys, auto paired) {
    const int n_parts = (shape.n_queries + 16 * tiles() - 1) / (16 * tiles());
    launch(
        {"attention", stream, dim3(small_blocks(shape, n_parts, paired())), dim3(kSmallWarps * 32)},
        small_attention_kernel<T, groups(), tiles(), keys(), paired()>, shape, views, n_parts);
  });
}

}  // namespace

void small_attention(StreamView stream, const AttentionCall& call) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call);
  run<f16>(stream, call);
}

}  // namespace causeway::kernels::cuda
