// The gradients in f32 and f64, without atomics: one block per tile of queries, then one per tile
// of keys; see exact.cuh.
#include "causeway/kernels/attention/exact.cuh"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

namespace {

// Dot products of gradient and out, one warp per row.
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

// The tiles of a block in shared memory, and the scores and slopes of a tile of queries (y) and a
// tile of keys (x).
template <class T>
struct GradientTiles {
  using Plan = ExactPlan<T>;
  using Scores = T[Plan::kPer][Plan::kPer];

  const AttentionShape& shape;
  const GradientViews<T, T>& views;
  const T* dots;
  ExactPlace place;
  ExactTile<T> tile;
  int limit;
  T* queries = reinterpret_cast<T*>(shared_memory());
  T* gradients;
  T* keys;
  T* values;
  T* scores;  // behind the tiles; its layout is the kernel's

  __device__ __forceinline__ GradientTiles(const AttentionShape& attention,
                                           const GradientViews<T, T>& operands, const T* row_dots,
                                           int n_tiles)
      : shape(attention),
        views(operands),
        dots(row_dots),
        place(attention, n_tiles, Plan::kTile),
        tile(attention.head_size),
        limit(attention.limit(place.entry)),
        gradients(queries + Plan::rows(attention.head_size)),
        keys(gradients + Plan::rows(attention.head_size)),
        values(keys + Plan::rows(attention.head_size)),
        scores(values + Plan::rows(attention.head_size)) {}

  __device__ __forceinline__ void load_queries(int first) const {
    tile.load(queries, views.q.of(place.entry, place.head), first, shape.n_queries);
    tile.load(gradients, views.gradient.of(place.entry, place.head), first, shape.n_queries);
  }
  __device__ __forceinline__ void load_keys(int first) const {
    tile.load(keys, views.k.of(place.entry, place.head), first, limit);
    tile.load(values, views.v.of(place.entry, place.head), first, limit);
  }

  // The probabilities of the queries from `query` on for the keys from `key` on, and the gradients
  // of the scores without the scale.
  __device__ __forceinline__ void compute(int query, int key, Scores& probability,
                                          Scores& slope) const {
    tile.products(probability, queries, keys);
    tile.products(slope, gradients, values);
    const HeadRows<const T> log_sum = views.log_sum.of(place.entry, place.head);
#pragma unroll
    for (int i = 0; i < Plan::kPer; ++i) {
      const int row = query + tile.y + kExactSide * i;
      const bool exists = row < shape.n_queries;
      const int seen = exists ? shape.seen(row, limit) : 0;
      const T logarithm = exists ? *log_sum[row] : T(0);
      const T dot = exists ? dots[place.sequence * shape.n_queries + row] : T(0);
#pragma unroll
      for (int j = 0; j < Plan::kPer; ++j) {
        const bool sees = key + tile.x + kExactSide * j < seen;
        const T score = probability[i][j] * static_cast<T>(shape.scale);
        const T p = sees ? math::exp(score - logarithm) : T(0);
        probability[i][j] = p;
        slope[i][j] = p * (slope[i][j] - dot);
      }
    }
  }

  __device__ __forceinline__ void store(T* to, const Scores& from) const {
#pragma unroll
    for (int i = 0; i < Plan::kPer; ++i) {
#pragma unroll
      for (int j = 0; j < Plan::kPer; ++j) {
        to[(tile.y + kExactSide * i) * Plan::kScoreStride + tile.x + kExactSide * j] = from[i][j];
      }
    }
  }
};

template <class T>
__global__ void __launch_bounds__(kExactBlock)
    exact_query_gradient_kernel(AttentionShape shape, GradientViews<T, T> views, const T* dots,
                                int n_tiles) {
  using Plan = ExactPlan<T>;
  const GradientTiles<T> tiles(shape, views, dots, n_tiles);
  const ExactPlace& place = tiles.place;
  tiles.load_queries(place.first);
  T sums[Plan::kPer][Plan::kParts] = {};
  const int end = shape.seen(min(place.first + Plan::kTile, shape.n_queries) - 1, tiles.limit);
  for (int begin = 0; begin < end; begin += Plan::kTile) {
    tiles.load_keys(begin);
    __syncthreads();
    T probability[Plan::kPer][Plan::kPer];
    T slope[Plan::kPer][Plan::kPer];
    tiles.compute(place.first, begin, probability, slope);
    tiles.store(tiles.scores, slope);
    __syncthreads();
    tiles.tile.weigh(sums, tiles.scores, Plan::kScoreStride, 1, tiles.keys);
    __syncthreads();
  }
  T factor[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) factor[i] = static_cast<T>(shape.scale);
  tiles.tile.store(sums, factor, views.q_gradient.of(place.entry, place.head), place.first,
                   shape.n_queries);
}

template <class T>
__global__ void __launch_bounds__(kExactBlock)
    exact_key_gradient_kernel(AttentionShape shape, GradientViews<T, T> views, const T* dots,
                              int n_tiles) {
  using Plan = ExactPlan<T>;
  const GradientTiles<T> tiles(shape, views, dots, n_tiles);
  const ExactPlace& place = tiles.place;
  T* probabilities = tiles.scores;
  T* slopes = tiles.scores + Plan::kScores;
  tiles.load_keys(place.first);
  T k_sums[Plan::kPer][Plan::kParts] = {};
  T v_sums[Plan::kPer][Plan::kParts] = {};
  const int before = shape.causal ? max(place.first - (shape.n_keys - shape.n_queries), 0) : 0;
  const int end = place.first < tiles.limit ? shape.n_queries : 0;
  for (int begin = before / Plan::kTile * Plan::kTile; begin < end; begin += Plan::kTile) {
    tiles.load_queries(begin);
    __syncthreads();
    T probability[Plan::kPer][Plan::kPer];
    T slope[Plan::kPer][Plan::kPer];
    tiles.compute(begin, place.first, probability, slope);
    tiles.store(probabilities, probability);
    tiles.store(slopes, slope);
    __syncthreads();
    tiles.tile.weigh(v_sums, probabilities, 1, Plan::kScoreStride, tiles.gradients);
    tiles.tile.weigh(k_sums, slopes, 1, Plan::kScoreStride, tiles.queries);
    __syncthreads();
  }
  T one[Plan::kPer];
  T factor[Plan::kPer];
#pragma unroll
  for (int i = 0; i < Plan::kPer; ++i) {
    one[i] = 1;
    factor[i] = static_cast<T>(shape.scale);
  }
  tiles.tile.store(k_sums, factor, views.k_gradient.of(place.entry, place.head), place.first,
                   shape.n_keys);
  tiles.tile.store(v_sums, one, views.v_gradient.of(place.entry, place.head), place.first,
                   shape.n_keys);
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
