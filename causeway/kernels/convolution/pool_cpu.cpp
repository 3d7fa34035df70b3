// Pooling on the CPU, window by window, with planes distributed over threads. Bytes: the input and
// the output once; bound by instructions.
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/convolution/pool_geometry.h"
#include "causeway/runtime/threads.h"

#include <algorithm>

namespace causeway::kernels::cpu {

namespace {

// Calls body(plane) for every plane, distributed over threads.
template <class Body>
void for_each_plane(const Shape& shape, const Body& body) {
  const std::int64_t size = std::max<std::int64_t>(shape[2] * shape[3], 1);
  parallel_for(shape[0] * shape[1], std::max<std::int64_t>(1, 8192 / size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
               });
}

}  // namespace

void pool(StreamView, const Pooling& how, const Operand& in, const Operand& out,
          const Operand& indices) {
  const PoolGeometry g = pool_geometry(how, in.shape, out.shape);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for_each_plane(out.shape, [&](std::int64_t plane) {
      const T* from = static_cast<const T*>(in.data) + plane * g.in_plane();
      T* to = static_cast<T*>(out.data) + plane * g.out_plane();
      auto* places = static_cast<std::int32_t*>(indices.data);
      for (std::int32_t y = 0; y < g.out_height; ++y) {
        for (std::int32_t x = 0; x < g.out_width; ++x) {
          const std::int64_t at = static_cast<std::int64_t>(y) * g.out_width + x;
          if (how.op == PoolOp::average) {
            to[at] = static_cast<T>(pool_average<C>(g, from, y, x));
            continue;
          }
          std::int32_t place = 0;
          to[at] = static_cast<T>(pool_max<C>(g, from, y, x, place));
          if (places != nullptr) places[plane * g.out_plane() + at] = place;
        }
      }
    });
  });
}

void pool_gradient(StreamView, const Pooling& how, const Operand& gradient, const Operand& indices,
                   const Operand& in_gradient) {
  const PoolGeometry g = pool_geometry(how, in_gradient.shape, gradient.shape);
  dispatch_floating(gradient.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for_each_plane(in_gradient.shape, [&](std::int64_t plane) {
      const T* from = static_cast<const T*>(gradient.data) + plane * g.out_plane();
      T* to = static_cast<T*>(in_gradient.data) + plane * g.in_plane();
      const std::int32_t* places =
          how.op == PoolOp::average
              ? nullptr
              : static_cast<const std::int32_t*>(indices.data) + plane * g.out_plane();
      for (std::int32_t y = 0; y < g.height; ++y) {
        for (std::int32_t x = 0; x < g.width; ++x) {
          to[static_cast<std::int64_t>(y) * g.width + x] =
              static_cast<T>(pool_gradient_at<C>(g, from, places, y, x));
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
