// Attention for sequences of up to 64 rows. Bytes: q, k, v and the result once; bound by memory.
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

// The softmax of one query's products with all keys, of which the lane has those at 2 * half and
// 2 * half + 1: rounded probabilities, and the logarithm of the sum of exponentials.
template <class T, class Plan>
__device__ __forceinline__ float softmax(std::uint32_t (&probability)[Plan::kTiles],
                                         float (&score)[Plan::kTiles][4], int half, int seen,
                                         float scale) {
  const int t = threadIdx.x % 4;
  float most = -INFINITY;
#pragma unroll
  for (int tile = 0; tile < Plan::kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float& value = score[tile][2 * half + i];
      value = 8 * tile + 2 * t + i < seen ? value * scale : -INFINITY;
      most = fmaxf(most, value);
    }
  }
  most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
  most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
  const float base = most == -INFINITY ? 0.0f : most;
  float sum = 0;
#pragma unroll
  for (int tile = 0; tile < Plan::kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float& value = score[tile][2 * half + i];
      value = power_of_2(value - base);
      sum += value;
    }
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  const float factor = sum == 0 ? 0.0f : 1 / sum;
#pragma unroll
  for (int tile = 0; tile < Plan::kTiles; ++tile) {
    probability[tile] = pack<T>(score[tile][2 * half] * factor, score[tile][2 * half + 1] * factor);
  }
  return (most + log2f(sum)) * kLn2;
}

template <class Plan>
inline constexpr std::size_t kForwardBytes = std::size_t{6} * Plan::kTile;  // per sequence

template <class T, class Plan>
__global__ void __launch_bounds__(Plan::kBlock)
    small_attention_kernel(AttentionShape shape, SmallForward<T> views) {
  constexpr int kStride = Plan::kStride;
  constexpr int kParts = Plan::kWarps == 1 ? Plan::kTiles : 2 * Plan::kTurns;  // of eight queries
  const SmallPlace<Plan> place(shape);
  if (!place.exists) return;
  T* queries = reinterpret_cast<T*>(shared_memory() + place.slot * kForwardBytes<Plan>);
  T* keys = queries + Plan::kTile;
  T* values = keys + Plan::kTile;
  copy_sequence<Plan>(queries, views.q.of(place.entry, place.head), shape.n_queries, shape,
                      place.thread);
  const SmallKeys seen(shape, place.entry);
  copy_sequence<Plan>(keys, views.k.of(place.entry, place.head), seen.limit, shape, place.thread);
  copy_sequence<Plan>(values, views.v.of(place.entry, place.head), seen.limit, shape, place.thread);
  end_copies();
  wait_for_copies<0>();
  place.synchronize();

  const float scale = static_cast<float>(shape.scale) * kLog2E;
  const HeadRows<float> log_sum = views.log_sum.of(place.entry, place.head);
  std::uint32_t probability[2 * Plan::kTurns][Plan::kTiles] = {};
#pragma unroll
  for (int turn = 0; turn < Plan::kTurns; ++turn) {
    const int first = 16 * (place.warp() + turn * Plan::kWarps);
    if (first >= Plan::kRows) break;
    float score[Plan::kTiles][4];
    row_products<T, Plan>(score, queries, first, keys);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (first + 8 * half >= Plan::kRows) break;
      const int query = first + 8 * half + threadIdx.x % 32 / 4;
      const float logarithm =
          softmax<T, Plan>(probability[2 * turn + half], score, half, seen.seen(query), scale);
      if (threadIdx.x % 4 == 0 && query < shape.n_queries && log_sum.data != nullptr) {
        *log_sum[query] = logarithm;
      }
    }
  }
  // The results replace this warp's queries, which no other warp reads.
#pragma unroll
  for (int column = 0; column < Plan::kHead; column += 16) {
    std::uint32_t a[Plan::kSteps][4];
    load_columns<kStride, Plan::kRows>(a, values, column);
    float sum[kParts][4] = {};
#pragma unroll
    for (int step = 0; step < Plan::kSteps; ++step) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        multiply_step<T, Plan::kTiles>(sum[part], a[step], probability[part], step);
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int row = 16 * (place.warp() + part / 2 * Plan::kWarps) + 8 * (part % 2);
      if (row < Plan::kRows) stage_sums<T, kStride>(queries, row, column, sum[part], 1);
    }
  }
  __syncwarp();
  const HeadRows<T> out = views.out.of(place.entry, place.head);
#pragma unroll
  for (int turn = 0; turn < Plan::kTurns; ++turn) {
    const int first = 16 * (place.warp() + turn * Plan::kWarps);
    store_block<16, Plan::kHead, kStride>(out, queries, first, 0, shape.n_queries, shape);
  }
}

template <class T>
void run(StreamView stream, const AttentionCall& call) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const SmallForward<T> views{HeadView<const T>(call.q), HeadView<const T>(call.k),
                              HeadView<const T>(call.v), HeadView<T>(call.out),
                              HeadView<float>(call.log_sum)};
  dispatch_small(shape, [&](auto plan) {
    using Plan = decltype(plan);
    launch({"attention", stream, dim3(small_blocks<Plan>(shape)), dim3(Plan::kBlock),
            Plan::kSequences * kForwardBytes<Plan>},
           small_attention_kernel<T, Plan>, shape, views);
  });
}

}  // namespace

void small_attention(StreamView stream, const AttentionCall& call) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call);
  run<f16>(stream, call);
}

}  // namespace causeway::kernels::cuda
