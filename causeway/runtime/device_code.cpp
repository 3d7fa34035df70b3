#include "causeway/runtime/device_code.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/profiler.h"

#include <optional>

namespace causeway {

KernelResources DeviceKernel::resources(Device device) const {
  return driver::resources(device.index, handle_);
}

int DeviceKernel::active_blocks(Device device, int block_size, std::size_t shared_bytes) const {
  return driver::active_blocks(device.index, handle_, block_size, shared_bytes);
}

void DeviceKernel::launch(StreamView stream, const GridSize& size, void** arguments) const {
  std::optional<profiler::Scope> timed;
  if (profiler::enabled()) timed.emplace(name_, profiler::Kind::kernel, stream, 0.0);
  driver::launch_kernel(name_.c_str(), stream.device().index, stream.handle(), handle_, size,
                        arguments);
}

DeviceCode::DeviceCode(std::span<const std::byte> cubin)
    : cubin_(cubin.begin(), cubin.end()), handle_(driver::load_code(cubin_.data())) {}

DeviceCode::~DeviceCode() {
  if (handle_ != nullptr) driver::unload_code(handle_);
}

DeviceKernel DeviceCode::kernel(const std::string& name) const {
  CUkern_st* found = driver::find_kernel(handle_, name.c_str());
  if (found == nullptr) {
    fail(ErrorKind::invalid_argument, "kernel",
         "the compiled code has no kernel \"" + name +
             "\"; declare it extern \"C\" __global__ and check its name");
  }
  return {found, name};
}

}  // namespace causeway
