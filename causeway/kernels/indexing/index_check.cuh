// Range check of an index read from memory; see runtime/fault.h.
#pragma once

#include "causeway/runtime/fault.h"
#include "causeway/runtime/stream.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace causeway::kernels::cuda {

// Records an index out of range; only the first one is kept.
struct IndexCheck {
  FaultReport report;
  std::int32_t site;
  std::int32_t axis;
  std::int64_t bound;

  __device__ __forceinline__ bool fits(std::int64_t index) const {
    if (index >= 0 && index < bound) return true;
    if (atomicCAS(report.taken, 0, 1) == 0) {
      report.record->axis = axis;
      report.record->index = index;
      report.record->bound = bound;
      report.record->site = site;
    }
    return false;
  }
};

inline IndexCheck make_check(StreamView stream, FaultSite site, int axis, std::int64_t bound) {
  return {fault_report(stream.device()), static_cast<std::int32_t>(site), axis, bound};
}

}  // namespace causeway::kernels::cuda
