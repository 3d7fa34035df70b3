// Virtual memory of a CUDA device, by the driver's API. Every page is an allocation of its own, so
// that it can be released alone.
#include "causeway/core/library.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/driver.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>

namespace causeway::driver {

namespace {

struct CudaDriver {
  SharedLibrary library{{.name = "the CUDA driver",
                         .files = {"libcuda.so.1"},
                         .wheels = {},
                         .variable = "CAUSEWAY_CUDA_DRIVER",
                         .advice = "install NVIDIA's driver, or use the cpu device"}};
  CAUSEWAY_LIBRARY_FUNCTION(library, cuDeviceGetAttribute);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuGetErrorName);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemAddressFree);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemAddressReserve);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemCreate);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemGetAllocationGranularity);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemMap);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemRelease);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemSetAccess);
  CAUSEWAY_LIBRARY_FUNCTION(library, cuMemUnmap);
};

const CudaDriver& cuda() {
  static const auto* const driver = new CudaDriver();
  return *driver;
}

void require(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuda().cuGetErrorName(status, &name);
  fail(ErrorKind::device, call, name != nullptr ? name : fmt::format("error {}", +status));
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr address(void* data) { return reinterpret_cast<CUdeviceptr>(data); }

// Maps one page; false when out of memory.
bool map_page(CUdeviceptr page, std::size_t bytes, const CUmemAllocationProp& properties) {
  CUmemGenericAllocationHandle memory{};
  const CUresult created = cuda().cuMemCreate(&memory, bytes, &properties, 0);
  if (created == CUDA_ERROR_OUT_OF_MEMORY) return false;
  require(created, "cuMemCreate");
  const CUresult mapped = cuda().cuMemMap(page, bytes, 0, memory, 0);
  cuda().cuMemRelease(memory);  // the mapping keeps the memory
  if (mapped == CUDA_ERROR_OUT_OF_MEMORY) return false;
  require(mapped, "cuMemMap");
  return true;
}

}  // namespace

std::size_t page_size(int device) {
  const DeviceScope scope(device);
  check(cudaFree(nullptr), "cudaFree");  // creates the context that the calls below need
  int supported = 0;
  try {
    require(cuda().cuDeviceGetAttribute(
                &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
            "cuDeviceGetAttribute");
  } catch (const Error&) {
    return 0;  // the driver is older than virtual memory
  }
  if (supported == 0) return 0;
  std::size_t granularity = 0;
  const CUmemAllocationProp properties = properties_of(device);
  require(cuda().cuMemGetAllocationGranularity(&granularity, &properties,
                                               CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "cuMemGetAllocationGranularity");
  const std::size_t page = std::max(granularity, std::size_t{2} << 20);
  // Some virtual GPUs and containers support the calls above but not this one.
  CUmemGenericAllocationHandle probe{};
  if (cuda().cuMemCreate(&probe, page, &properties, 0) != CUDA_SUCCESS) return 0;
  cuda().cuMemRelease(probe);
  return page;
}

void* reserve(std::size_t bytes) {
  CUdeviceptr range = 0;
  if (cuda().cuMemAddressReserve(&range, bytes, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
  return reinterpret_cast<void*>(range);
}

void unreserve(void* range, std::size_t bytes) noexcept {
  cuda().cuMemAddressFree(address(range), bytes);
}

bool map(int device, void* pages, std::size_t bytes, std::size_t page_size) {
  const DeviceScope scope(device);
  const CUmemAllocationProp properties = properties_of(device);
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::size_t done = 0;
  try {
    while (done < bytes && map_page(address(pages) + done, page_size, properties)) {
      done += page_size;
    }
    if (done == bytes) {
      const CUresult status = cuda().cuMemSetAccess(address(pages), bytes, &access, 1);
      if (status == CUDA_SUCCESS) return true;
      if (status != CUDA_ERROR_OUT_OF_MEMORY) require(status, "cuMemSetAccess");
    }
  } catch (...) {
    unmap(pages, done, page_size);
    throw;
  }
  unmap(pages, done, page_size);
  return false;
}

void unmap(void* pages, std::size_t bytes, std::size_t page_size) noexcept {
  for (std::size_t done = 0; done < bytes; done += page_size) {
    cuda().cuMemUnmap(address(pages) + done, page_size);
  }
}

}  // namespace causeway::driver
