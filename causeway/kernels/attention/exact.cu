// The forward pass in f32 and f64; see exact.cuh.
#include "causeway/kernels/attention/exact.cuh"

namespace causeway::kernels::cuda {

namespace {

template <class T>
struct ExactForward {
  HeadView<const T> q, k, v;
  HeadView<T> out;
  HeadView<T> log_sum;
};

template <class T>
__global__ void __launch_bounds__(kExactBlock)
    exact_attention_kernel(AttentionShape shape, ExactForward<T> views, int n_tiles) {
  using Plan = ExactPlan<T>;
  const ExactPlace place(shape, n_tiles, Plan::kTile);
  const ExactTile<T> tile(shape.head_size);
  const int limit = shape.limit(place.entry);
  const HeadRows<const T> k = views.k.of(place.entry, place.head);
  const HeadRows<const T> v = views.v.of(place.entry, place.head);
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* keys = queries + Plan::rows(shape.head_size);
  T* values = keys + Plan::rows(shape.head_size);
  T* weights = values + Plan::rows(shape.head_size);
  tile.load(queries, views.q.of(place.entry, place.head), place.first, shape.n_queries);

  const T infinity = static_cast<T>(INFINITY);
  T largest[Plan::kPer];
  T sum[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) {
    largest[i] = -infinity;
    sum[i] = 0;
  }
  T out[Plan::kPer][Plan::kParts] = {};
  const int end = shape.seen(min(place.first + Plan::kTile, shape.n_queries) - 1, limit);
  for (int begin = 0; begin < end; begin += Plan::kTile) {
    tile.load(keys, k, begin, limit);
    tile.load(values, v, begin, limit);
    __syncthreads();
    T score[Plan::kPer][Plan::kPer];
    tile.products(score, queries, keys);
#pragma unroll
    for (int i = 0; i < Plan::kPer; ++i) {
      const int seen = shape.seen(place.first + tile.y + kExactSide * i, limit) - begin;
      T most = largest[i];
#pragma unroll
      for (int j = 0; j < Plan::kPer; ++j) {
        const bool sees = tile.x + kExactSide * j < seen;
        score[i][j] = sees ? score[i][j] * static_cast<T>(shape.scale) : -infinity;
        most = score[i][j] > most ? score[i][j] : most;
      }
      most = largest_of_side(most);
      const T base = most == -infinity ? T(0) : most;
      const T kept = math::exp(largest[i] - base);
      largest[i] = most;
      T added = 0;
#pragma unroll
      for (int j = 0; j < Plan::kPer; ++j) {
        const T weight = math::exp(score[i][j] - base);
        weights[(tile.y + kExactSide * i) * Plan::kScoreStride + tile.x + kExactSide * j] = weight;
        added += weight;
      }
      sum[i] = sum[i] * kept + added;
#pragma unroll
      for (int j = 0; j < Plan::kParts; ++j) out[i][j] *= kept;
    }
    __syncthreads();
    tile.weigh(out, weights, Plan::kScoreStride, 1, values);
    __syncthreads();
  }
  const HeadRows<T> log_sum = views.log_sum.of(place.entry, place.head);
  T factor[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) {
    const T total = sum_of_side(sum[i]);
    factor[i] = total == 0 ? T(0) : 1 / total;
    const int query = place.first + tile.y + kExactSide * i;
    if (tile.x == 0 && query < shape.n_queries && log_sum.data != nullptr) {
      *log_sum[query] = largest[i] + math::log(total);
    }
  }
  tile.store(out, factor, views.out.of(place.entry, place.head), place.first, shape.n_queries);
}

template <class T>
void run(StreamView stream, const AttentionCall& call) {
  using Plan = ExactPlan<T>;
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, false);
  const int n_tiles = (shape.n_queries + Plan::kTile - 1) / Plan::kTile;
  const std::size_t elements =
      static_cast<std::size_t>(3 * Plan::rows(shape.head_size) + Plan::kScores);
  launch(
      {"attention", stream, dim3(static_cast<unsigned>(shape.n_sequences * n_tiles)),
       dim3(kExactBlock), elements * sizeof(T)},
      exact_attention_kernel<T>, shape,
      ExactForward<T>{HeadView<const T>(call.q), HeadView<const T>(call.k),
                      HeadView<const T>(call.v), HeadView<T>(call.out), HeadView<T>(call.log_sum)},
      n_tiles);
}

}  // namespace

void exact_attention(StreamView stream, const AttentionCall& call) {
  if (call.q.dtype == DType::f64) return run<double>(stream, call);
  run<float>(stream, call);
}

}  // namespace causeway::kernels::cuda
