// Softmax of rows and its gradient. Bytes: each operand once; bound by memory: 16384 x 4096 bf16
// reaches 79% of an H200's peak, the gradient 84%. A row is kept in the registers of a team of
// threads, a longer one in shared memory; a row that fits neither is read again, as are the long
// rows of the gradient.
#include "causeway/kernels/rows.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"

namespace causeway::kernels::cuda {

namespace {

// Vectors of a row in a thread's registers: up to 32 elements, fewer for rows that are not aligned
// and read element by element.
template <int kVec>
constexpr int kHeld = kVec > 1 ? 4 : 8;

template <bool kLogarithm, int kVec, class T>
__global__ void __launch_bounds__(kRowThreads)
    softmax_kernel(const T* in, T* out, std::int64_t n_rows, int n_columns, int team_size) {
  using C = Compute<T>;
  constexpr int kVectors = kHeld<kVec>;
  __shared__ MaxSum<C> memory[64];
  TeamScratch<MaxSum<C>> scratch(memory);
  const Team team(team_size);
  const std::int64_t row =
      std::int64_t{blockIdx.x} * (blockDim.x / team.size) + threadIdx.x / team.size;
  const int columns =
      row < n_rows ? n_columns : 0;  // a team without a row must take part in the barriers
  Vector<T, kVec> loaded[kVectors];
  load_row(loaded, in + row * n_columns, team, columns, static_cast<T>(minus_infinity<C>()));
  Values<C, kVec> part[kVectors];
  C max = minus_infinity<C>();
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    part[v] = unpack(loaded[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) max = larger(max, part[v].value[i]);
  }
  C sum = C(0);
  const C base = max == minus_infinity<C>() ? C(0) : max;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const C term = exp_below_zero(part[v].value[i] - base);
      sum += term;
      if constexpr (!kLogarithm) part[v].value[i] = term;
    }
  }
  const auto total =
      combine_team(team, MaxSum<C>{max, sum}, MaxSum<C>::none(), scratch, MaxSum<C>::combine);
  const C factor = MaxSum<C>::rescale(max, total.max) / total.sum;
  const C log_sum = math::log(total.sum);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    if (column >= columns) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      C& value = part[v].value[i];
      value = kLogarithm ? (value - total.max) - log_sum : value * factor;
    }
    store_vector(out + row * n_columns + column, pack<T>(part[v]));
  }
}

// One block per row: the maximum and the sum in a first pass, the results in a second, from shared
// memory if the row fits.
template <int kVec, class T>
__global__ void __launch_bounds__(kRowThreads, 2)
    softmax_long_kernel(const T* in, T* out, int n_columns, bool cached, bool alike,
                        bool logarithm) {
  using C = Compute<T>;
  constexpr int kUnroll = 4;
  extern __shared__ __align__(16) unsigned char cache_memory[];
  auto* cache = reinterpret_cast<T*>(cache_memory);
  __shared__ MaxSum<C> memory[64];
  TeamScratch<MaxSum<C>> scratch(memory);
  const Team team(kRowThreads);
  const VectorRow<kVec, const T> row(in + std::int64_t{blockIdx.x} * n_columns, n_columns);
  T* to = out + std::int64_t{blockIdx.x} * n_columns;
  const T fill = static_cast<T>(minus_infinity<C>());
  auto acc = MaxSum<C>::none();
  for (int first = team.rank; first < row.n_vectors(); first += kUnroll * kRowThreads) {
    Vector<T, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = first + u * kRowThreads;
      if (v < row.n_vectors()) {
        loaded[u] = row.load(v, fill);
      } else {
#pragma unroll
        for (int i = 0; i < kVec; ++i) loaded[u].value[i] = fill;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = first + u * kRowThreads;
      if (cached && v < row.n_vectors()) store_shared(cache + v * kVec, loaded[u]);
    }
    include_vectors(acc, loaded);
  }
  const auto total = combine_team(team, acc, MaxSum<C>::none(), scratch, MaxSum<C>::combine);
  const C factor = C(1) / total.sum;
  const C log_sum = math::log(total.sum);
#pragma unroll 2
  for (int v = team.rank; v < row.n_vectors(); v += kRowThreads) {
    // A thread reads only what it wrote itself.
    auto values = unpack(cached ? load_vector<kVec>(cache + v * kVec) : row.load(v, fill));
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      C& x = values.value[i];
      x = logarithm ? (x - total.max) - log_sum : MaxSum<C>::term(x, total.max) * factor;
    }
    row.store(v, to, alike, pack<T>(values));
  }
}

// An element's term in its row's sum, and its gradient given that sum.
template <class C>
__device__ __forceinline__ C gradient_term(C y, C g, bool logarithm) {
  return logarithm ? g : y * g;
}
template <class C>
__device__ __forceinline__ C gradient_of(C y, C g, C sum, bool logarithm) {
  return logarithm ? g - exp_below_zero(y) * sum : y * (g - sum);
}

template <int kVec, class T>
__global__ void __launch_bounds__(kRowThreads)
    softmax_gradient_kernel(const T* out, const T* gradient, T* result, std::int64_t n_rows,
                            int n_columns, int team_size, bool logarithm) {
  using C = Compute<T>;
  constexpr int kVectors = kHeld<kVec>;
  __shared__ C memory[64];
  TeamScratch<C> scratch(memory);
  const Team team(team_size);
  const std::int64_t row =
      std::int64_t{blockIdx.x} * (blockDim.x / team.size) + threadIdx.x / team.size;
  const int columns = row < n_rows ? n_columns : 0;
  Vector<T, kVec> y[kVectors];
  Vector<T, kVec> g[kVectors];
  load_row(y, out + row * n_columns, team, columns, static_cast<T>(C(0)));
  load_row(g, gradient + row * n_columns, team, columns, static_cast<T>(C(0)));
  C sum = C(0);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const auto yv = unpack(y[v]);
    const auto gv = unpack(g[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += gradient_term(yv.value[i], gv.value[i], logarithm);
  }
  sum = sum_team(team, sum, scratch);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    if (column >= columns) continue;
    const auto yv = unpack(y[v]);
    auto gv = unpack(g[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      gv.value[i] = gradient_of(yv.value[i], gv.value[i], sum, logarithm);
    }
    store_vector(result + row * n_columns + column, pack<T>(gv));
  }
}

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    softmax_gradient_long_kernel(const T* out, const T* gradient, T* result, int n_columns,
                                 bool gradient_alike, bool result_alike, bool logarithm) {
  using C = Compute<T>;
  constexpr int kVec = vector_width<T>();
  __shared__ C memory[64];
  TeamScratch<C> scratch(memory);
  const Team team(kRowThreads);
  const std::int64_t first = std::int64_t{blockIdx.x} * n_columns;
  const VectorRow<kVec, const T> y_row(out + first, n_columns);
  const VectorRow<kVec, const T> g_row(gradient + first, n_columns);
  const T zero = static_cast<T>(C(0));
  const auto load_gradient = [&](int v) {
    if (gradient_alike) return g_row.load(v, zero);
    Vector<T, kVec> loaded;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = y_row.column(v) + i;
      loaded.value[i] = at >= 0 && at < n_columns ? gradient[first + at] : zero;
    }
    return loaded;
  };
  C sum = C(0);
#pragma unroll 2
  for (int v = team.rank; v < y_row.n_vectors(); v += kRowThreads) {
    const auto y = unpack(y_row.load(v, zero));
    const auto g = unpack(load_gradient(v));
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += gradient_term(y.value[i], g.value[i], logarithm);
  }
  sum = sum_team(team, sum, scratch);
  for (int v = team.rank; v < y_row.n_vectors(); v += kRowThreads) {
    const auto y = unpack(y_row.load(v, zero));
    auto g = unpack(load_gradient(v));
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      g.value[i] = gradient_of(y.value[i], g.value[i], sum, logarithm);
    }
    y_row.store(v, result + first, result_alike, pack<T>(g));
  }
}

template <class T, class Run>
void with_vectors(bool aligned, const Run& run) {
  // Vectors do not help 8-byte elements.
  if constexpr (sizeof(T) < 8) {
    if (aligned) return run(std::integral_constant<int, vector_width<T>()>());
  }
  run(std::integral_constant<int, 1>());
}

}  // namespace

void softmax(StreamView stream, SoftmaxOp op, const Operand& in, const Operand& out,
             std::int64_t n_rows, std::int64_t n_columns) {
  if (n_rows == 0 || n_columns == 0) return;
  const bool logarithm = op == SoftmaxOp::log_softmax;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = vector_width<T>();
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    bool done = false;
    with_vectors<T>(rows_align(n_columns, kWide, sizeof(T), from, to), [&](auto vec) {
      constexpr int kVec = decltype(vec)::value;
      const RowPlan plan = plan_rows(n_columns, kVec, 4, kHeld<kVec>);
      done = plan.fits();
      if (!done) return;
      const auto blocks = (n_rows + plan.rows_per_block() - 1) / plan.rows_per_block();
      launch({"softmax", stream, dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(plan.threads))},
             logarithm ? softmax_kernel<true, kVec, T> : softmax_kernel<false, kVec, T>, from, to,
             n_rows, static_cast<int>(n_columns), plan.team);
    });
    if (done) return;
    const std::size_t bytes = static_cast<std::size_t>(n_columns + 2 * kWide) * sizeof(T);
    const bool cached = bytes <= shared_memory_limit(stream);
    launch({"softmax", stream, dim3(static_cast<unsigned>(n_rows)), dim3(kRowThreads),
            cached ? bytes : 0},
           softmax_long_kernel<kWide, T>, from, to, static_cast<int>(n_columns), cached,
           same_alignment(from, to), logarithm);
  });
}

void softmax_gradient(StreamView stream, SoftmaxOp op, const Operand& out, const Operand& gradient,
                      const Operand& result, std::int64_t n_rows, std::int64_t n_columns) {
  if (n_rows == 0 || n_columns == 0) return;
  const bool logarithm = op == SoftmaxOp::log_softmax;
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = vector_width<T>();
    const auto* y = static_cast<const T*>(out.data);
    const auto* g = static_cast<const T*>(gradient.data);
    auto* to = static_cast<T*>(result.data);
    bool done = false;
    with_vectors<T>(rows_align(n_columns, kWide, sizeof(T), y, g, to), [&](auto vec) {
      constexpr int kVec = decltype(vec)::value;
      const RowPlan plan = plan_rows(n_columns, kVec, 4, kHeld<kVec>);
      done = plan.fits();
      if (!done) return;
      const auto blocks = (n_rows + plan.rows_per_block() - 1) / plan.rows_per_block();
      launch({"softmax_gradient", stream, dim3(static_cast<unsigned>(blocks)),
              dim3(static_cast<unsigned>(plan.threads))},
             softmax_gradient_kernel<kVec, T>, y, g, to, n_rows, static_cast<int>(n_columns),
             plan.team, logarithm);
    });
    if (done) return;
    launch({"softmax_gradient", stream, dim3(static_cast<unsigned>(n_rows)), dim3(kRowThreads)},
           softmax_gradient_long_kernel<T>, y, g, to, static_cast<int>(n_columns),
           same_alignment(y, g), same_alignment(y, to), logarithm);
  });
}

}  // namespace causeway::kernels::cuda
