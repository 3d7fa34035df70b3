// SwiGLU. Bytes: the input once, the output once; the gradient reads 3 and writes 2 numbers per
// element. Bound by memory.
#include "causeway/kernels/activation/swiglu.h"

#include "causeway/kernels/activation/swiglu_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

// Each thread computes kVec elements of one row.
template <class T, int kVec>
__global__ void __launch_bounds__(kThreads)
    swiglu_kernel(std::int64_t n_rows, int width, const T* in, T* out) {
  using C = Compute<T>;
  const int pieces = width / kVec;
  const std::int64_t piece = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t row = piece / pieces;
  if (row >= n_rows) return;
  const int column = static_cast<int>(piece - row * pieces) * kVec;
  const T* gates = in + row * 2 * width + column;
  auto gate = load_vector<kVec>(gates);
  const auto up = load_vector<kVec>(gates + width);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    gate.value[i] =
        static_cast<T>(swiglu_of(static_cast<C>(gate.value[i]), static_cast<C>(up.value[i])));
  }
  store_vector(out + row * width + column, gate);
}

template <class T, int kVec>
__global__ void __launch_bounds__(kThreads)
    swiglu_gradient_kernel(std::int64_t n_rows, int width, const T* in, const T* gradient, T* out) {
  using C = Compute<T>;
  const int pieces = width / kVec;
  const std::int64_t piece = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t row = piece / pieces;
  if (row >= n_rows) return;
  const int column = static_cast<int>(piece - row * pieces) * kVec;
  const std::int64_t at = row * 2 * width + column;
  auto gate = load_vector<kVec>(in + at);
  auto up = load_vector<kVec>(in + at + width);
  const auto g = load_vector<kVec>(gradient + row * width + column);
#pragma unroll
  for (int i = 0; i < kVec; ++i) {
    const auto slopes = swiglu_slopes(static_cast<C>(gate.value[i]), static_cast<C>(up.value[i]),
                                      static_cast<C>(g.value[i]));
    gate.value[i] = static_cast<T>(slopes.gate);
    up.value[i] = static_cast<T>(slopes.up);
  }
  store_vector(out + at, gate);
  store_vector(out + at + width, up);
}

unsigned blocks_for(std::int64_t n_rows, std::int64_t width, int vec) {
  return static_cast<unsigned>((n_rows * (width / vec) + kThreads - 1) / kThreads);
}

}  // namespace

void swiglu(StreamView stream, const Operand& in, const Operand& out) {
  const std::int64_t n_rows = out.shape[0];
  const auto width = static_cast<int>(out.shape[1]);
  if (n_rows * width == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVec = vector_width<T>();
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    const bool whole = rows_align(width, kVec, sizeof(T), from, to);
    const auto kernel = whole ? swiglu_kernel<T, kVec> : swiglu_kernel<T, 1>;
    launch({"swiglu", stream, dim3(blocks_for(n_rows, width, whole ? kVec : 1)), dim3(kThreads)},
           kernel, n_rows, width, from, to);
  });
}

void swiglu_gradient(StreamView stream, const Operand& in, const Operand& gradient,
                     const Operand& out) {
  const std::int64_t n_rows = gradient.shape[0];
  const auto width = static_cast<int>(gradient.shape[1]);
  if (n_rows * width == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVec = vector_width<T>();
    const auto* from = static_cast<const T*>(in.data);
    const auto* slopes = static_cast<const T*>(gradient.data);
    auto* to = static_cast<T*>(out.data);
    const bool whole = rows_align(width, kVec, sizeof(T), from, slopes, to);
    const auto kernel = whole ? swiglu_gradient_kernel<T, kVec> : swiglu_gradient_kernel<T, 1>;
    launch({"swiglu gradient", stream, dim3(blocks_for(n_rows, width, whole ? kVec : 1)),
            dim3(kThreads)},
           kernel, n_rows, width, from, slopes, to);
  });
}

}  // namespace causeway::kernels::cuda
