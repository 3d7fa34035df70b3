// The scale of queries on the GPU. Bytes: the queries are read and written once; the gradient also
// reads the scaled queries. Bound by memory.
#include "causeway/models/kernels/scaled_queries.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

// Heads have a multiple of 8 elements.
template <class T>
constexpr int kVec = 16 / sizeof(T) < 8 ? 16 / sizeof(T) : 8;

// One thread per vector.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scale_kernel(QueryLayout layout, QueryScale<T> scale, std::int64_t n_vectors, T* packed) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= n_vectors) return;
  const auto per_head = static_cast<std::int64_t>(layout.size / kVec<T>);
  const std::int64_t query = at / per_head;
  const std::int64_t head = query % layout.n_heads;
  const std::int64_t table = query / layout.n_heads / layout.n_items;
  T* to = packed + query * layout.n_parts * layout.size + at % per_head * kVec<T>;
  auto values = unpack<kVec<T>, T>(load_vector<kVec<T>>(to));
  const Compute<T> by = scale.of(table, head);
#pragma unroll
  for (int k = 0; k < kVec<T>; ++k) values.value[k] *= by;
  store_vector(to, pack<T, kVec<T>>(values));
}

// One block per partial sum: blockIdx is (sum, head, table).
template <class T>
__global__ void __launch_bounds__(kThreads)
    scale_gradient_kernel(QueryLayout layout, QueryScale<T> scale, const T* packed, T* gradient,
                          Compute<T>* sums) {
  using C = Compute<T>;
  __shared__ C memory[64];
  TeamScratch<C> scratch(memory);
  const std::int64_t head = blockIdx.y;
  const std::int64_t table = blockIdx.z;
  const auto per_head = static_cast<std::int64_t>(layout.size / kVec<T>);
  const std::int64_t first = layout.first_item(blockIdx.x);
  const std::int64_t count = (layout.first_item(blockIdx.x + 1) - first) * per_head;
  const C by = scale.of(table, head);
  C sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
    const std::int64_t at = layout.at(table, first + i / per_head, head) + i % per_head * kVec<T>;
    const auto query = unpack<kVec<T>, T>(load_vector<kVec<T>>(packed + at));
    auto g = unpack<kVec<T>, T>(load_vector<kVec<T>>(gradient + at));
#pragma unroll
    for (int k = 0; k < kVec<T>; ++k) {
      sum += g.value[k] * query.value[k];
      g.value[k] *= by;
    }
    store_vector(gradient + at, pack<T, kVec<T>>(g));
  }
  sum = sum_team(Team(kThreads), sum, scratch);
  if (threadIdx.x == 0) {
    sums[(table * kScaleSums + blockIdx.x) * layout.n_heads + head] = by == 0 ? C(0) : sum / by;
  }
}

}  // namespace

void scale_queries(StreamView stream, const Operand& packed, const Operand& slope,
                   const Operand& offset, const Operand& n_keys) {
  const QueryLayout layout = query_layout(packed, slope);
  dispatch_floating(packed.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t n_vectors =
        layout.n_tables * layout.n_items * layout.n_heads * layout.size / kVec<T>;
    if (n_vectors == 0) return;
    const dim3 grid(static_cast<unsigned>((n_vectors + kThreads - 1) / kThreads));
    launch({"scale_queries", stream, grid, dim3(kThreads)}, scale_kernel<T>, layout,
           query_scale<T>(slope, offset, n_keys), n_vectors, static_cast<T*>(packed.data));
  });
}

void scale_queries_gradient(StreamView stream, const Operand& packed, const Operand& slope,
                            const Operand& offset, const Operand& n_keys, const Operand& gradient,
                            const Operand& sums) {
  const QueryLayout layout = query_layout(packed, slope);
  if (layout.n_tables == 0) return;
  const dim3 grid(kScaleSums, static_cast<unsigned>(layout.n_heads),
                  static_cast<unsigned>(layout.n_tables));
  dispatch_floating(packed.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"scale_queries_gradient", stream, grid, dim3(kThreads)}, scale_gradient_kernel<T>,
           layout, query_scale<T>(slope, offset, n_keys), static_cast<const T*>(packed.data),
           static_cast<T*>(gradient.data), static_cast<Compute<T>*>(sums.data));
  });
}

}  // namespace causeway::kernels::cuda
