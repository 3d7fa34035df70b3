// Kernel parameters of a pooling call.
#pragma once

#include "causeway/kernels/convolution/convolution.h"
#include "causeway/kernels/convolution/pool_device.h"

namespace causeway::kernels {

inline PoolGeometry pool_geometry(const Pooling& how, const Shape& in, const Shape& out) {
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  return {narrow(in[2]),
          narrow(in[3]),
          narrow(out[2]),
          narrow(out[3]),
          {narrow(how.window[0]), narrow(how.window[1])},
          {narrow(how.stride[0]), narrow(how.stride[1])},
          {narrow(how.padding[0]), narrow(how.padding[1])}};
}

}  // namespace causeway::kernels
