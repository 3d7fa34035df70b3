// An operation selected at run time. One kernel serves several operations: the branch is uniform
// and outside the loop over a thread's elements, so memory-bound kernels run at the same speed, and
// there are fewer kernels to compile.
#pragma once

#include "causeway/core/host_device.h"

namespace causeway::kernels::cuda {

template <class... Operations>
struct RuntimeOp {
  int index = 0;  // into Operations

  template <class Body>
  __device__ __forceinline__ void visit(const Body& body) const {
    int at = 0;
    ((at++ == index ? (body(Operations()), true) : false) || ...);
  }
};

template <class Function>
inline constexpr bool kIsRuntimeOp = false;
template <class... Operations>
inline constexpr bool kIsRuntimeOp<RuntimeOp<Operations...>> = true;

template <class Function>
concept RuntimeOperation = kIsRuntimeOp<Function>;

}  // namespace causeway::kernels::cuda
