// Times inside a step of decode_model: thread 0 of each block writes its clock at the ends of the
// parts of a step (decode_trace_parts in decode_model.h).
#pragma once

#include "causeway/kernels/decode/decode_model.h"

#include <cstdint>

namespace causeway::kernels::cuda {

class DecodeTrace {
 public:
  __device__ __forceinline__ explicit DecodeTrace(const DecodeModel& model) : model_(model) {
    write_time(2);
    mark();
  }

  __device__ __forceinline__ void mark() {
    if (is_on()) line()[n_marks_++] = static_cast<std::uint64_t>(clock64());
  }
  __device__ __forceinline__ void finish() const { write_time(1); }

 private:
  __device__ __forceinline__ bool is_on() const {
    return model_.trace != nullptr && threadIdx.x == 0;
  }
  __device__ __forceinline__ std::uint64_t* line() const {
    return model_.trace + std::int64_t{blockIdx.x} * decode_trace_marks(model_.n_layers);
  }
  // Writes the time to the line, `from_end` words from its end.
  __device__ __forceinline__ void write_time(int from_end) const {
    if (!is_on()) return;
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    line()[decode_trace_marks(model_.n_layers) - from_end] = ns;
  }

  const DecodeModel& model_;
  int n_marks_ = 0;
};

}  // namespace causeway::kernels::cuda
