// The cuDNN handle of a device, for one caller at a time. Only for files built with cuDNN.
#pragma once

#include "causeway/runtime/stream.h"

#include <cudnn.h>

#include <mutex>

namespace causeway::kernels::cuda {

// Throws a device error naming the call.
void check_cudnn(cudnnStatus_t status, const char* call);

class CudnnHandle {
 public:
  // Work is queued on `stream` during the lifetime of this object.
  explicit CudnnHandle(StreamView stream);
  cudnnHandle_t get() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace causeway::kernels::cuda
