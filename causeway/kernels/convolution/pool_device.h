// Geometry of pooling windows, shared by CPU and GPU.
#pragma once

#include "causeway/core/host_device.h"

#include <cstdint>

namespace causeway {

// The sizes of one call; a plane is one channel of one image.
struct PoolGeometry {
  std::int32_t height, width;          // of the input
  std::int32_t out_height, out_width;  // of the output
  std::int32_t window[2];
  std::int32_t stride[2];
  std::int32_t padding[2];

  CAUSEWAY_HOST_DEVICE std::int64_t in_plane() const {
    return static_cast<std::int64_t>(height) * width;
  }
  CAUSEWAY_HOST_DEVICE std::int64_t out_plane() const {
    return static_cast<std::int64_t>(out_height) * out_width;
  }
};

// A half-open range along one axis.
struct Range {
  std::int32_t begin;
  std::int32_t end;
};

// The range of an axis of `size` that window `index` covers.
CAUSEWAY_HOST_DEVICE Range covered(std::int32_t index, std::int32_t size, std::int32_t window,
                                   std::int32_t stride, std::int32_t padding) {
  const std::int32_t start = index * stride - padding;
  const std::int32_t stop = start + window;
  return {start < 0 ? 0 : start, stop > size ? size : stop};
}

// The range of the `count` windows that cover position `at` of an axis.
CAUSEWAY_HOST_DEVICE Range covering(std::int32_t at, std::int32_t count, std::int32_t window,
                                    std::int32_t stride, std::int32_t padding) {
  const std::int32_t reach = at + padding;
  const std::int32_t first = reach < window ? 0 : (reach - window) / stride + 1;
  const std::int32_t last = reach / stride + 1;
  return {first, last > count ? count : last};
}

// The maximum of a window and its position in the plane: the first in case of ties; NaN takes
// precedence.
template <class C, class T>
CAUSEWAY_HOST_DEVICE C pool_max(const PoolGeometry& g, const T* plane, std::int32_t out_y,
                                std::int32_t out_x, std::int32_t& place) {
  const Range rows = covered(out_y, g.height, g.window[0], g.stride[0], g.padding[0]);
  const Range columns = covered(out_x, g.width, g.window[1], g.stride[1], g.padding[1]);
  place = rows.begin * g.width + columns.begin;
  C best = static_cast<C>(plane[place]);
  for (std::int32_t y = rows.begin; y < rows.end; ++y) {
    for (std::int32_t x = columns.begin; x < columns.end; ++x) {
      const C value = static_cast<C>(plane[y * g.width + x]);
      if (value > best || (value != value && best == best)) {
        best = value;
        place = y * g.width + x;
      }
    }
  }
  return best;
}

template <class C, class T>
CAUSEWAY_HOST_DEVICE C pool_average(const PoolGeometry& g, const T* plane, std::int32_t out_y,
                                    std::int32_t out_x) {
  const Range rows = covered(out_y, g.height, g.window[0], g.stride[0], g.padding[0]);
  const Range columns = covered(out_x, g.width, g.window[1], g.stride[1], g.padding[1]);
  C sum = 0;
  for (std::int32_t y = rows.begin; y < rows.end; ++y) {
    for (std::int32_t x = columns.begin; x < columns.end; ++x) {
      sum += static_cast<C>(plane[y * g.width + x]);
    }
  }
  return sum / static_cast<C>(g.window[0] * g.window[1]);
}

// The gradient of one input element; `places` is null for averages.
template <class C, class T>
CAUSEWAY_HOST_DEVICE C pool_gradient_at(const PoolGeometry& g, const T* gradient,
                                        const std::int32_t* places, std::int32_t y,
                                        std::int32_t x) {
  const Range rows = covering(y, g.out_height, g.window[0], g.stride[0], g.padding[0]);
  const Range columns = covering(x, g.out_width, g.window[1], g.stride[1], g.padding[1]);
  const std::int32_t own = y * g.width + x;
  C sum = 0;
  for (std::int32_t out_y = rows.begin; out_y < rows.end; ++out_y) {
    for (std::int32_t out_x = columns.begin; out_x < columns.end; ++out_x) {
      const std::int32_t at = out_y * g.out_width + out_x;
      if (places == nullptr || places[at] == own) sum += static_cast<C>(gradient[at]);
    }
  }
  return places == nullptr ? sum / static_cast<C>(g.window[0] * g.window[1]) : sum;
}

}  // namespace causeway
