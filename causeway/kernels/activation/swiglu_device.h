// SwiGLU and its derivatives for one element, shared by CPU and GPU.
#pragma once

#include "causeway/kernels/math_device.h"

namespace causeway {

template <class C>
CAUSEWAY_HOST_DEVICE C swiglu_of(C gate, C up) {
  return gate / (C(1) + math::exp(-gate)) * up;
}

template <class C>
struct SwigluSlopes {
  C gate;
  C up;
};

template <class C>
CAUSEWAY_HOST_DEVICE SwigluSlopes<C> swiglu_slopes(C gate, C up, C gradient) {
  const C share = C(1) / (C(1) + math::exp(-gate));
  const C silu = gate * share;
  return {gradient * up * (share + silu * (C(1) - share)), gradient * silu};
}

}  // namespace causeway
