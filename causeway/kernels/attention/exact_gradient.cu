// The gradients in f32 and f64, without atomics: a block for each tile of queries, then one for
// each tile of keys; see attention_exact.cuh.
#include "causeway/kernels/attention/exact.cuh"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

namespace {

// gradient · out of every row, a warp each.
template <class T>
__global__ void __launch_bounds__(kThreads)
    exact_dot_kernel(AttentionShape shape, GradientViews<T, T> views, T* dots) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (at >= shape.n_sequences * shape.n_queries) return;
  const std::int64_t sequence = at / shape.n_queries;
  const int query = static_cast<int>(at % shape.n_queries);
  const std::int64_t entry = sequence / shape.n_heads;
  const int head = static_cast<int>(sequence % shape.n_heads);
  const T* gradient = views.gradient.of(entry, head)[query];
  const T* out = views.out.of(entry, head)[query];
  T sum = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < shape.head_size; i += 32) {
    sum += gradient[i] * out[i];
  }
  sum = sum_of_side(sum);
  sum += __shfl_xor_sync(0xffffffffu, sum, 16);
  if (threadIdx.x % 32 == 0) dots[at] = sum;
}

// From products of a tile of queries (y) with a tile of keys (x) to probabilities and gradients of
// the scores, both without the scale.
template <class T>
__device__ __forceinline__ void soften(const ExactTile<T>& tile, const AttentionShape& shape,
                                       int query, int key, int limit, const T* log_sum,
                                       std::int64_t log_sum_stride, const T* dots,
                                       T (&score)[ExactPlan<T>::kPer][ExactPlan<T>::kPer],
                                       T (&slope)[ExactPlan<T>::kPer][ExactPlan<T>::kPer]) {
#pragma unroll
  for (int i = 0; i < ExactPlan<T>::kPer; ++i) {
    const int row = query + tile.y + kExactSide * i;
    const bool there = row < shape.n_queries;
    const int seen = there ? shape.seen(row, limit) : 0;
    const T logarithm = there ? log_sum[row * log_sum_stride] : T(0);
    const T dot = there ? dots[row] : T(0);
#pragma unroll
    for (int j = 0; j < ExactPlan<T>::kPer; ++j) {
      const bool sees = key + tile.x + kExactSide * j < seen;
      const T p = sees ? math::exp(score[i][j] * static_cast<T>(shape.scale) - logarithm) : T(0);
      score[i][j] = p;
      slope[i][j] = p * (slope[i][j] - dot);
    }
  }
}

template <class T>
__device__ __forceinline__ void put(const ExactTile<T>& tile, T* to,
                                    const T (&values)[ExactPlan<T>::kPer][ExactPlan<T>::kPer]) {
  using Plan = ExactPlan<T>;
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) {
#pragma unroll
    for (int j = 0; j < Plan::kPer; ++j) {
      to[(tile.y + kExactSide * i) * Plan::kScoreStride + tile.x + kExactSide * j] = values[i][j];
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kExactBlock)
    exact_query_gradient_kernel(AttentionShape shape, GradientViews<T, T> views, const T* dots,
                                int n_tiles) {
  using Plan = ExactPlan<T>;
  const ExactPlace place(shape, n_tiles, Plan::kTile);
  const ExactTile<T> tile(shape.head_size);
  const int limit = shape.limit(place.entry);
  const int rows = Plan::rows(shape.head_size);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* gradients = queries + rows;
  T* keys = gradients + rows;
  T* values = keys + rows;
  T* steps = values + rows;
  tile.load(queries, views.q.of(place.entry, place.head), place.first, shape.n_queries);
  tile.load(gradients, views.gradient.of(place.entry, place.head), place.first, shape.n_queries);
  const HeadRows<const T> log_sum = views.log_sum.of(place.entry, place.head);
  T sums[Plan::kPer][Plan::kParts] = {};
  const int end = shape.seen(min(place.first + Plan::kTile, shape.n_queries) - 1, limit);
  for (int begin = 0; begin < end; begin += Plan::kTile) {
    tile.load(keys, views.k.of(place.entry, place.head), begin, limit);
    tile.load(values, views.v.of(place.entry, place.head), begin, limit);
    __syncthreads();
    T score[Plan::kPer][Plan::kPer];
    T slope[Plan::kPer][Plan::kPer];
    tile.products(score, queries, keys);
    tile.products(slope, gradients, values);
    soften(tile, shape, place.first, begin, limit, log_sum.data, log_sum.stride,
           dots + place.sequence * shape.n_queries, score, slope);
    put(tile, steps, slope);
    __syncthreads();
    tile.weigh(sums, steps, Plan::kScoreStride, 1, keys);
    __syncthreads();
  }
  T factor[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) factor[i] = static_cast<T>(shape.scale);
  tile.store(sums, factor, views.q_gradient.of(place.entry, place.head), place.first,
             shape.n_queries);
}

template <class T>
__global__ void __launch_bounds__(kExactBlock)
    exact_key_gradient_kernel(AttentionShape shape, GradientViews<T, T> views, const T* dots,
                              int n_tiles) {
  using Plan = ExactPlan<T>;
  const ExactPlace place(shape, n_tiles, Plan::kTile);
  const ExactTile<T> tile(shape.head_size);
  const int limit = shape.limit(place.entry);
  const int rows = Plan::rows(shape.head_size);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* gradients = queries + rows;
  T* keys = gradients + rows;
  T* values = keys + rows;
  T* weights = values + rows;
  T* steps = weights + Plan::kScores;
  tile.load(keys, views.k.of(place.entry, place.head), place.first, limit);
  tile.load(values, views.v.of(place.entry, place.head), place.first, limit);
  const HeadRows<const T> log_sum = views.log_sum.of(place.entry, place.head);
  T k_sums[Plan::kPer][Plan::kParts] = {};
  T v_sums[Plan::kPer][Plan::kParts] = {};
  const int before = shape.causal ? max(place.first - (shape.n_keys - shape.n_queries), 0) : 0;
  const int end = place.first < limit ? shape.n_queries : 0;
  for (int begin = before / Plan::kTile * Plan::kTile; begin < end; begin += Plan::kTile) {
    tile.load(queries, views.q.of(place.entry, place.head), begin, shape.n_queries);
    tile.load(gradients, views.gradient.of(place.entry, place.head), begin, shape.n_queries);
    __syncthreads();
    T score[Plan::kPer][Plan::kPer];
    T slope[Plan::kPer][Plan::kPer];
    tile.products(score, queries, keys);
    tile.products(slope, gradients, values);
    soften(tile, shape, begin, place.first, limit, log_sum.data, log_sum.stride,
           dots + place.sequence * shape.n_queries, score, slope);
    put(tile, weights, score);
    put(tile, steps, slope);
    __syncthreads();
    tile.weigh(v_sums, weights, 1, Plan::kScoreStride, gradients);
    tile.weigh(k_sums, steps, 1, Plan::kScoreStride, queries);
    __syncthreads();
  }
  T one[Plan::kPer];
  T factor[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) {
    one[i] = 1;
    factor[i] = static_cast<T>(shape.scale);
  }
  tile.store(k_sums, factor, views.k_gradient.of(place.entry, place.head), place.first,
             shape.n_keys);
  tile.store(v_sums, one, views.v_gradient.of(place.entry, place.head), place.first, shape.n_keys);
}

template <class T>
void run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  using Plan = ExactPlan<T>;
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, false);
  const GradientViews<T, T> views = gradient_views<T, T>(call, gradients);
  const std::int64_t n_rows = shape.n_sequences * shape.n_queries;
  const Buffer dots =
      pool_of(stream.device()).allocate(static_cast<std::size_t>(n_rows) * sizeof(T), stream);
  auto* to = reinterpret_cast<T*>(dots.data());
  constexpr int kRows = kThreads / 32;
  launch({"attention_gradient", stream, dim3(static_cast<unsigned>((n_rows + kRows - 1) / kRows)),
          dim3(kThreads)},
         exact_dot_kernel<T>, shape, views, to);
  const auto blocks = [&](int n_tiles) {
    return dim3(static_cast<unsigned>(shape.n_sequences * n_tiles));
  };
  const int tiles = 4 * Plan::rows(shape.head_size);
  const auto bytes = [](int elements) { return static_cast<std::size_t>(elements) * sizeof(T); };
  const int query_tiles = (shape.n_queries + Plan::kTile - 1) / Plan::kTile;
  launch({"attention_gradient", stream, blocks(query_tiles), dim3(kExactBlock),
          bytes(tiles + Plan::kScores)},
         exact_query_gradient_kernel<T>, shape, views, to, query_tiles);
  const int key_tiles = (shape.n_keys + Plan::kTile - 1) / Plan::kTile;
  if (key_tiles == 0) return;
  launch({"attention_gradient", stream, blocks(key_tiles), dim3(kExactBlock),
          bytes(tiles + 2 * Plan::kScores)},
         exact_key_gradient_kernel<T>, shape, views, to, key_tiles);
}

}  // namespace

void exact_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients) {
  if (call.q.dtype == DType::f64) return run<double>(stream, call, gradients);
  run<float>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
