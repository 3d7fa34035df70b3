#include "causeway/kernels/cudnn/cudnn_handle.h"

#include "causeway/core/error.h"
#include "causeway/kernels/cudnn/cudnn_library.h"

#include <map>
#include <string>

namespace causeway::kernels::cuda {

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  fail(ErrorKind::device, "cudnn",
       std::string(call) + " failed: " + cudnn().cudnnGetErrorString(status));
}

CudnnHandle::CudnnHandle(StreamView stream) {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;
  lock_ = std::unique_lock(mutex);
  cudnnHandle_t& handle = handles[stream.device().index];
  if (handle == nullptr) check_cudnn(cudnn().cudnnCreate(&handle), "cudnnCreate");
  check_cudnn(cudnn().cudnnSetStream(handle, stream.handle()), "cudnnSetStream");
  handle_ = handle;
}

}  // namespace causeway::kernels::cuda
