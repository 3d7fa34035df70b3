// The gradients of attention for sequences of up to 64 rows. Each input is read once; the result of
// the forward pass is not, since its product with its gradient is the sum of the probabilities
// times their gradients. Probabilities and gradients of scores pass through shared memory from the
// sums over features to those over rows. Bytes: four inputs and three results once; bound by
// memory.
#include "causeway/kernels/attention/paths.h"
#include "causeway/kernels/attention/small.cuh"
#include "causeway/kernels/dispatch.h"

namespace causeway::kernels::cuda {

namespace {

template <class Plan>
struct GradientPlan {
  // Rows of probabilities and gradients of scores, side by side, in the place of the values.
  static constexpr int kWeightStride = std::max(Plan::kStride, kTileStride<2 * Plan::kRows>);
  static constexpr std::size_t kBytes = 6 * Plan::kTile + 2 * Plan::kRows * kWeightStride;
  static constexpr std::size_t kShared = Plan::kSequences * kBytes;
  static constexpr int kColumns = Plan::kHead / Plan::kWarps;  // of a warp in the sums over rows
  // Per multiprocessor: as many as the shared memory of an H100 has room for, unless registers
  // would be too few.
  static constexpr int kWarps = std::min(80 / Plan::kTiles, 32);
  static constexpr int kBlocks =
      std::min<int>(228 * 1024 / (kShared + 1024), 32 * kWarps / Plan::kBlock);
};

// Probabilities and gradients of scores, rounded, for sixteen queries of a warp at a time.
template <class T, class Plan>
struct Weights {
  std::uint32_t probability[2][Plan::kTiles];
  std::uint32_t slope[2][Plan::kTiles];

  // From products of q with k and of the gradient with v, for one query per half.
  __device__ __forceinline__ void set(int half, float (&score)[Plan::kTiles][4],
                                      const float (&product)[Plan::kTiles][4], int seen,
                                      float scale, float logarithm) {
    const int t = threadIdx.x % 4;
    float dot = 0;
#pragma unroll
    for (int tile = 0; tile < Plan::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& value = score[tile][2 * half + i];
        const float power = power_of_2(value * scale - logarithm);
        value = 8 * tile + 2 * t + i < seen ? power : 0.0f;
        dot += value * product[tile][2 * half + i];
      }
    }
    dot += __shfl_xor_sync(0xffffffffu, dot, 1);
    dot += __shfl_xor_sync(0xffffffffu, dot, 2);
#pragma unroll
    for (int tile = 0; tile < Plan::kTiles; ++tile) {
      const float left = score[tile][2 * half];
      const float right = score[tile][2 * half + 1];
      probability[half][tile] = pack<T>(left, right);
      slope[half][tile] = pack<T>(left * (product[tile][2 * half] - dot),
                                  right * (product[tile][2 * half + 1] - dot));
    }
  }
  __device__ __forceinline__ void store(T* to, int half) const {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int tile = 0; tile < Plan::kTiles; ++tile) {
      T* word = to + 8 * tile + 2 * t;
      *reinterpret_cast<std::uint32_t*>(word) = probability[half][tile];
      *reinterpret_cast<std::uint32_t*>(word + Plan::kRows) = slope[half][tile];
    }
  }
};

// Replaces a warp's columns of a tile by its sums over rows, times weights: over queries, or over
// keys if kOverKeys.
template <class T, class Plan, bool kOverKeys>
__device__ __forceinline__ void sum_rows(T* tile, int left, const T* weights, float factor) {
  constexpr int kStride = GradientPlan<Plan>::kWeightStride;
  constexpr int kParts = GradientPlan<Plan>::kColumns / 16;
  std::uint32_t a[kParts][Plan::kSteps][4];
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    load_columns<Plan::kStride, Plan::kRows>(a[part], tile, left + 16 * part);
  }
#pragma unroll
  for (int row = 0; row < Plan::kRows; row += 8) {
    std::uint32_t b[Plan::kWords];
    if constexpr (kOverKeys) {
      load_eight_rows<kStride>(b, weights, row);
    } else {
      load_eight_columns<kStride, Plan::kRows>(b, weights, row);
    }
    float sum[kParts][4] = {};
#pragma unroll
    for (int step = 0; step < Plan::kSteps; ++step) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        multiply_step<T, Plan::kTiles>(sum[part], a[part][step], b, step);
      }
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      stage_sums<T, Plan::kStride>(tile, row, left + 16 * part, sum[part], factor);
    }
  }
  __syncwarp();
}

template <class T, class Plan>
__global__ void __launch_bounds__(Plan::kBlock, GradientPlan<Plan>::kBlocks)
    small_attention_gradient_kernel(AttentionShape shape, GradientViews<T> views) {
  constexpr int kTurns = Plan::kTurns;
  constexpr int kWeightStride = GradientPlan<Plan>::kWeightStride;
  constexpr int kColumns = GradientPlan<Plan>::kColumns;
  const SmallPlace<Plan> place(shape);
  if (!place.exists) return;
  T* queries = reinterpret_cast<T*>(shared_memory() + place.slot * GradientPlan<Plan>::kBytes);
  T* gradients = queries + Plan::kTile;
  T* values = gradients + Plan::kTile;
  T* weights = values;
  T* keys = weights + Plan::kRows * kWeightStride;  // last: loads of weights may read beyond them
  copy_sequence<Plan>(queries, views.q.of(place.entry, place.head), shape.n_queries, shape,
                      place.thread);
  copy_sequence<Plan>(gradients, views.gradient.of(place.entry, place.head), shape.n_queries, shape,
                      place.thread);
  const SmallKeys seen(shape, place.entry);
  copy_sequence<Plan>(keys, views.k.of(place.entry, place.head), seen.limit, shape, place.thread);
  copy_sequence<Plan>(values, views.v.of(place.entry, place.head), seen.limit, shape, place.thread);
  end_copies();
  const int lane_row = static_cast<int>(threadIdx.x) % 32 / 4;
  const HeadRows<const float> log_sum = views.log_sum.of(place.entry, place.head);
  float logarithm[kTurns][2];
#pragma unroll
  for (int half = 0; half < 2 * kTurns; ++half) {
    const int turn = half / 2;
    const int query = 16 * (place.warp() + turn * Plan::kWarps) + 8 * (half % 2) + lane_row;
    logarithm[turn][half % 2] = query < shape.n_queries ? *log_sum[query] * kLog2E : 0.0f;
  }
  wait_for_copies<0>();
  place.synchronize();

  Weights<T, Plan> own[kTurns];
#pragma unroll
  for (int turn = 0; turn < kTurns; ++turn) {
    const int first = 16 * (place.warp() + turn * Plan::kWarps);
    if (first >= Plan::kRows) break;
    float score[Plan::kTiles][4];
    float product[Plan::kTiles][4];
    row_products<T, Plan>(score, queries, first, keys);
    row_products<T, Plan>(product, gradients, first, values);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (first + 8 * half >= Plan::kRows) break;
      own[turn].set(half, score, product, seen.seen(first + 8 * half + lane_row),
                    static_cast<float>(shape.scale) * kLog2E, logarithm[turn][half]);
    }
  }
  place.synchronize();  // the values have been read
#pragma unroll
  for (int half = 0; half < 2 * kTurns; ++half) {
    const int turn = half / 2;
    const int row = 16 * (place.warp() + turn * Plan::kWarps) + 8 * (half % 2);
    if (row >= Plan::kRows) break;
    own[turn].store(weights + (row + lane_row) * kWeightStride, half % 2);
  }
  place.synchronize();

  const int left = place.warp() * kColumns;
  const auto store = [&](const HeadView<T>& to, const T* tile, int n_rows) {
    store_block<Plan::kRows, kColumns, Plan::kStride>(to.of(place.entry, place.head), tile, 0, left,
                                                      n_rows, shape);
  };
  const float scale = static_cast<float>(shape.scale);
  const T* slopes = weights + Plan::kRows;
  sum_rows<T, Plan, false>(gradients, left, weights, 1);
  store(views.v_gradient, gradients, shape.n_keys);
  sum_rows<T, Plan, false>(queries, left, slopes, scale);
  store(views.k_gradient, queries, shape.n_keys);
  sum_rows<T, Plan, true>(keys, left, slopes, scale);
  store(views.q_gradient, keys, shape.n_queries);
}

template <class T>
void run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const GradientViews<T> views = gradient_views<T>(call, gradients);
  dispatch_small(shape, [&](auto plan) {
    using Plan = decltype(plan);
    launch({"attention_gradient", stream, dim3(small_blocks<Plan>(shape)), dim3(Plan::kBlock),
            GradientPlan<Plan>::kShared},
           small_attention_gradient_kernel<T, Plan>, shape, views);
  });
}

}  // namespace

void small_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call, gradients);
  run<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
