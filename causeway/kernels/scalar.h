// Conversion of a Scalar to an element type.
#pragma once

#include "causeway/kernels/half_device.h"
#include "causeway/kernels/elementwise/elementwise.h"

#include <type_traits>

namespace causeway::kernels {

template <class T>
T scalar_as(Scalar value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.real != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value.integer);
  } else {
    return static_cast<T>(static_cast<Compute<T>>(value.real));
  }
}

}  // namespace causeway::kernels
