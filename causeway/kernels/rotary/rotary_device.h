// The rotation of one pair, shared by CPU and GPU.
#pragma once

#include "causeway/core/host_device.h"

namespace causeway {

template <class T>
struct Pair {
  T first;
  T second;
};

template <class T>
CAUSEWAY_HOST_DEVICE Pair<T> rotate(Pair<T> x, float cosine, float sine) {
  return {x.first * T(cosine) - x.second * T(sine), x.second * T(cosine) + x.first * T(sine)};
}

}  // namespace causeway
