// The gradients of a sequence of up to 128 rows and 64 features in one block: each input is read
// once, and the gradients of the scores are passed through shared memory from the sums over queries
// to the sums over keys. Bytes: five inputs and three results once; bound by memory and, nearly as
// much, by the tensor cores.
#include "causeway/kernels/attention/flash_gradient.cuh"

namespace causeway::kernels::cuda {

namespace {

template <int kHead>
struct WholePlan {
  static constexpr int kRows = kWholeRows;
  static constexpr int kBlock = kRows / 16 * 32;
  static constexpr bool kHeld = kHead <= 32;
  static constexpr int kTile = kTileBytes<kHead, kRows> / 2;  // elements
  static constexpr int kStepStride = kTileStride<kRows>;
  static constexpr std::size_t kShared =
      (4 * kTile + kRows * kStepStride) * 2 + 2 * kRows * sizeof(float);
};

template <class T, int kHead>
__global__ void __launch_bounds__(WholePlan<kHead>::kBlock, 2)
    whole_gradient_kernel(AttentionShape shape, GradientViews<T> views) {
  using Plan = WholePlan<kHead>;
  const TilePlace place(shape, 1);
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> gradient = views.gradient.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* gradients = queries + Plan::kTile;
  T* keys = gradients + Plan::kTile;
  T* values = keys + Plan::kTile;
  T* steps = values + Plan::kTile;  // gradients of the scores: rows are keys
  float* logarithms = reinterpret_cast<float*>(steps + Plan::kRows * Plan::kStepStride);
  float* dots = logarithms + Plan::kRows;

  copy_tile<kHead, Plan::kRows, Plan::kBlock>(queries, views.q.of(place.entry, place.head), 0,
                                              shape.n_queries, shape);
  copy_tile<kHead, Plan::kRows, Plan::kBlock>(gradients, gradient, 0, shape.n_queries, shape);
  copy_tile<kHead, Plan::kRows, Plan::kBlock>(keys, views.k.of(place.entry, place.head), 0, limit,
                                              shape);
  copy_tile<kHead, Plan::kRows, Plan::kBlock>(values, views.v.of(place.entry, place.head), 0, limit,
                                              shape);
  end_copies();
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 32 * 16;
  {
    float dot[2];
    row_dots<T, kHead>(dot, gradient, views.out.of(place.entry, place.head), warp_row,
                       shape.n_queries, shape);
    const HeadRows<const float> log_sum = views.log_sum.of(place.entry, place.head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = warp_row + lane / 4 + 8 * half;
      if (lane % 4 != 0) continue;
      dots[query] = dot[half];
      logarithms[query] = query_logarithm(log_sum, query, shape.n_queries);
    }
  }
  wait_for_copies<0>();
  __syncthreads();

  const float one[2] = {1, 1};
  const float factor[2] = {static_cast<float>(shape.scale), static_cast<float>(shape.scale)};
  if (warp_row < shape.n_keys) {
    const RowFragments<T, kHead, 1, Plan::kHeld> key_rows(keys, warp_row);
    const RowFragments<T, kHead, 1, Plan::kHeld> value_rows(values, warp_row);
    const bool masked = shape.causal || warp_row + 16 > limit;
    float k_sums[1][kHead / 8][4] = {};
    float v_sums[1][kHead / 8][4] = {};
#pragma unroll 2
    for (int row = 0; row < shape.n_queries; row += 16) {
      float score[1][2][4];
      float slope[1][2][4];
      slopes_of_keys(score, slope, key_rows, value_rows, queries, gradients, row, shape, warp_row,
                     row, limit, masked, logarithms + row, dots + row);
      std::uint32_t a[1][4];
      as_rows<T>(a, score);
      add_rows<T, kHead>(v_sums, a, gradients, row);
      as_rows<T>(a, slope);
      add_rows<T, kHead>(k_sums, a, queries, row);
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // a[0][i]: rows g or g + 8, columns 2t or 2t + 8
        T* to = steps + (warp_row + lane / 4 + i % 2 * 8) * Plan::kStepStride + row + i / 2 * 8 +
                2 * (lane % 4);
        *reinterpret_cast<std::uint32_t*>(to) = a[0][i];
      }
    }
    // No other warp reads these rows of the values; the keys are needed below.
    T* stage = values + warp_row * kTileStride<kHead>;
    store_rows<T, kHead>(stage, v_sums[0], one, views.v_gradient.of(place.entry, place.head),
                         warp_row, shape.n_keys, shape);
    store_rows<T, kHead>(stage, k_sums[0], factor, views.k_gradient.of(place.entry, place.head),
                         warp_row, shape.n_keys, shape);
  }
  __syncthreads();
  if (warp_row >= shape.n_queries) return;
  float q_sums[1][kHead / 8][4] = {};
#pragma unroll 2
  for (int row = 0; row < limit; row += 16) {
    std::uint32_t a[1][4];
    load_transposed(a[0], right_first<Plan::kStepStride>(steps, row, warp_row));
    add_rows<T, kHead>(q_sums, a, keys, row);
  }
  store_rows<T, kHead>(queries + warp_row * kTileStride<kHead>, q_sums[0], factor,
                       views.q_gradient.of(place.entry, place.head), warp_row, shape.n_queries,
                       shape);
}

template <class T>
void run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  const AttentionShape shape =
      attention_shape(call.how, call.q, call.k, call.context, rows_are_aligned(call, gradients));
  const auto start = [&](auto head) {
    using Plan = WholePlan<head()>;
    launch({"attention_gradient", stream, dim3(static_cast<unsigned>(shape.n_sequences)),
            dim3(Plan::kBlock), Plan::kShared},
           whole_gradient_kernel<T, head()>, shape, gradient_views<T>(call, gradients));
  };
  if (shape.head_size <= 32) return start(std::integral_constant<int, 32>());
  start(std::integral_constant<int, 64>());
}

}  // namespace

bool whole_gradient_fits(const AttentionShape& shape) {
  return shape.n_queries <= kWholeRows && shape.n_keys <= kWholeRows && shape.head_size <= 64;
}

void whole_gradient(StreamView stream, const AttentionCall& call,
                    const AttentionGradients& gradients) {
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call, gradients);
  run<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
