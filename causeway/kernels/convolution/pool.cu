// Pooling on the GPU, one thread per output; the gradient has one thread per input. Bytes: the
// input and the output once (overlapping windows hit the cache); bound by memory.
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/convolution/pool_geometry.h"

namespace causeway::kernels::cuda {

namespace {

template <bool kMax, class T>
__global__ void __launch_bounds__(kThreads)
    pool_kernel(PoolGeometry g, std::int64_t count, const T* in, T* out, std::int32_t* indices) {
  using C = Compute<T>;
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  const std::int64_t plane = at / g.out_plane();
  const auto rest = static_cast<std::int32_t>(at - plane * g.out_plane());
  const T* from = in + plane * g.in_plane();
  const std::int32_t y = rest / g.out_width;
  const std::int32_t x = rest - y * g.out_width;
  if constexpr (kMax) {
    std::int32_t place;
    out[at] = static_cast<T>(pool_max<C>(g, from, y, x, place));
    if (indices != nullptr) indices[at] = place;
  } else {
    out[at] = static_cast<T>(pool_average<C>(g, from, y, x));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    pool_gradient_kernel(PoolGeometry g, std::int64_t count, const T* gradient,
                         const std::int32_t* indices, T* result) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  const std::int64_t plane = at / g.in_plane();
  const auto rest = static_cast<std::int32_t>(at - plane * g.in_plane());
  const std::int32_t y = rest / g.width;
  const std::int32_t x = rest - y * g.width;
  const std::int64_t offset = plane * g.out_plane();
  result[at] = static_cast<T>(pool_gradient_at<Compute<T>>(
      g, gradient + offset, indices == nullptr ? nullptr : indices + offset, y, x));
}

dim3 grid_of(std::int64_t count) {
  return dim3(static_cast<unsigned>((count + kThreads - 1) / kThreads));
}

}  // namespace

void pool(StreamView stream, const Pooling& how, const Operand& in, const Operand& out,
          const Operand& indices) {
  const PoolGeometry g = pool_geometry(how, in.shape, out.shape);
  const std::int64_t count = numel(out.shape);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = how.op == PoolOp::max ? pool_kernel<true, T> : pool_kernel<false, T>;
    launch({"pool", stream, grid_of(count), dim3(kThreads)}, kernel, g, count,
           static_cast<const T*>(in.data), static_cast<T*>(out.data),
           static_cast<std::int32_t*>(indices.data));
  });
}

void pool_gradient(StreamView stream, const Pooling& how, const Operand& gradient,
                   const Operand& indices, const Operand& in_gradient) {
  const PoolGeometry g = pool_geometry(how, in_gradient.shape, gradient.shape);
  const std::int64_t count = numel(in_gradient.shape);
  dispatch_floating(gradient.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"pool_gradient", stream, grid_of(count), dim3(kThreads)}, pool_gradient_kernel<T>, g,
           count, static_cast<const T*>(gradient.data),
           how.op == PoolOp::max ? static_cast<const std::int32_t*>(indices.data) : nullptr,
           static_cast<T*>(in_gradient.data));
  });
}

}  // namespace causeway::kernels::cuda
