// cuDNN's handle of a device, lent to one caller at a time. Files that are built with cuDNN only.
#pragma once

#include "causeway/runtime/stream.h"

#include <cudnn.h>

#include <mutex>

namespace causeway::kernels::cuda {

// Throws a device error naming the call.
void check_cudnn(cudnnStatus_t status, const char* call);

class CudnnHandle {
 public:
  // Work goes to `stream` while this lives.
  explicit CudnnHandle(StreamView stream);
  cudnnHandle_t get() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace causeway::kernels::cuda
