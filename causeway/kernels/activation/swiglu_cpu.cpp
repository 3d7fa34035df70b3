// SwiGLU on the CPU. Bound by memory and the exponential.
#include "causeway/kernels/activation/swiglu.h"

#include "causeway/kernels/activation/swiglu_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/loop_cpu.h"

namespace causeway::kernels::cpu {

namespace {

template <class Row>
void for_each_gated_row(const Operand& in, const Row& row) {
  const std::int64_t width = in.shape[1] / 2;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width));
  parallel_for(in.shape[0], grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) row(i, width);
  });
}

}  // namespace

void swiglu(StreamView, const Operand& in, const Operand& out) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for_each_gated_row(in, [&](std::int64_t row, std::int64_t width) {
      const T* gate = static_cast<const T*>(in.data) + row * 2 * width;
      const T* up = gate + width;
      T* to = static_cast<T*>(out.data) + row * width;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        to[i] = static_cast<T>(swiglu_of(static_cast<C>(gate[i]), static_cast<C>(up[i])));
      }
    });
  });
}

void swiglu_gradient(StreamView, const Operand& in, const Operand& gradient, const Operand& out) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for_each_gated_row(in, [&](std::int64_t row, std::int64_t width) {
      const T* gate = static_cast<const T*>(in.data) + row * 2 * width;
      const T* up = gate + width;
      const T* g = static_cast<const T*>(gradient.data) + row * width;
      T* to = static_cast<T*>(out.data) + row * 2 * width;
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        const auto slopes =
            swiglu_slopes(static_cast<C>(gate[i]), static_cast<C>(up[i]), static_cast<C>(g[i]));
        to[i] = static_cast<T>(slopes.gate);
        to[width + i] = static_cast<T>(slopes.up);
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
