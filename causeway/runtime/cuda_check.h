// Turns a CUDA status into an error that names the call and the source location. CUDA files only.
#pragma once

#include "causeway/core/error.h"

#include <cuda_runtime_api.h>

#include <source_location>

namespace causeway::driver {

// Throws a device error "[call] <CUDA error name and text>" unless `status` is success.
void check(cudaError_t status, const char* call,
           std::source_location where = std::source_location::current());

// Makes `device` the calling thread's current device for the scope, then restores the previous one:
// other libraries in the process rely on the current device too.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = -1;
  bool changed_ = false;
};

}  // namespace causeway::driver
