// Turns a CUDA status into an error that names the call and the place. CUDA files only.
#pragma once

#include "causeway/core/error.h"

#include <cuda_runtime_api.h>

#include <source_location>

namespace causeway::driver {

// Throws a device error "[call] <CUDA's name and words>" unless `status` is success.
void check(cudaError_t status, const char* call,
           std::source_location where = std::source_location::current());

// Makes `device` the calling thread's device while it lives, then puts back the one before: other
// libraries in the process choose their device the same way.
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
