// The layout that differentiable kernels require.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>

namespace causeway::autograd {

// Contiguous and aligned to 16 bytes: the tensor itself or a copy.
inline Tensor dense(const Tensor& x) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data()) % 16 == 0;
  return aligned ? x.contiguous() : x.clone();
}

}  // namespace causeway::autograd
