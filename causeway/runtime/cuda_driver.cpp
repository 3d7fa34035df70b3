#include "causeway/core/advice.h"
#include "causeway/runtime/driver.h"

#include "causeway/core/environment.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/launch.h"

#include <atomic>

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

namespace causeway::internal {

bool synchronize_launches() {
  static const bool wait = environment("CAUSEWAY_SYNC").value_or("0") != "0";
  return wait;
}

}  // namespace causeway::internal

namespace causeway::driver {

void check(cudaError_t status, const char* call, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears a non-sticky error for the next call
  fail(ErrorKind::device, call,
       fmt::format("{}: {} ({}:{})", cudaGetErrorName(status), cudaGetErrorString(status),
                   where.file_name(), where.line()),
       where);
}

namespace {

std::atomic<int> default_device = -1;

// cudaSetDevice opens a context, and so would restoring device 0 in a thread that never chose one.
void enter_thread() {
  thread_local bool entered = false;
  if (entered || default_device < 0) return;
  entered = true;
  check(cudaSetDevice(default_device), "cudaSetDevice");
}

}  // namespace

void set_default_device(int device) { default_device = device; }

DeviceScope::DeviceScope(int device) {
  enter_thread();
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ == device) return;
  check(cudaSetDevice(device), "cudaSetDevice");
  changed_ = true;
}

DeviceScope::~DeviceScope() {
  if (changed_) cudaSetDevice(before_);
}

namespace {

// The device count, or the reason why there is none.
struct Presence {
  int count = 0;
  std::string absence;
};

const Presence& presence() {
  static const Presence found = [] {
    Presence result;
    const cudaError_t status = cudaGetDeviceCount(&result.count);
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) {
      cudaGetLastError();
      result.count = 0;
      result.absence = "no NVIDIA driver is installed";
    } else if (status != cudaSuccess) {
      cudaGetLastError();
      result.count = 0;
      result.absence = fmt::format("the CUDA runtime reports {} ({})", cudaGetErrorName(status),
                                   cudaGetErrorString(status));
    } else if (result.count == 0) {
      result.absence = "the driver lists no GPU";
    }
#ifdef CAUSEWAY_CUDA_CHECK
    if (result.count > 0) {
      result.count = 0;
      result.absence =
          "this build only checks that CUDA code compiles; build with CAUSEWAY_CUDA_CHECK=OFF";
    }
#endif
    return result;
  }();
  return found;
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "cudaDeviceGetAttribute");
  return value;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

int device_count() { return presence().count; }
std::string absence() { return presence().absence; }

std::string runtime_version() { return version_text(CUDART_VERSION); }

std::string driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "";
  return version_text(version);
}

// Multiply-adds of f16 operands with f32 accumulation per clock and multiprocessor on tensor cores;
// 0 if unknown.
double multiply_adds_per_clock(int major, int minor) {
  switch (10 * major + minor) {
    case 80: return 1024;
    case 86:
    case 89: return 512;
    case 90: return 2048;
    case 100: return 4096;
    default: return 0;
  }
}

std::string uuid(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(properties.uuid.bytes[i]));
  }
  return text;
}

DeviceInfo describe(int device) {
  const DeviceScope scope(device);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.name = properties.name;
  info.capability_major = properties.major;
  info.capability_minor = properties.minor;
  check(cudaMemGetInfo(&info.memory_free, &info.memory_total), "cudaMemGetInfo");
  info.multiprocessors = properties.multiProcessorCount;
  info.clock_mhz = attribute(cudaDevAttrClockRate, device) / 1000;
  info.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, device) / 1000;
  info.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  // Two transfers per clock; the bus width is in bits.
  info.peak_bandwidth =
      2.0 * info.memory_clock_mhz * 1e6 * attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8.0;
  const double multiply_adds = multiply_adds_per_clock(properties.major, properties.minor);
  info.peak_flops = 2 * multiply_adds * info.multiprocessors * info.clock_mhz * 1e6;
  return info;
}

void require_device(int device) {
  if (device < device_count()) return;
  fail(ErrorKind::device, "device",
       device_count() == 0
           ? fmt::format("cuda:{} is not available: {}; {}", device, absence(),
                         advice("pass --device cpu", "pass device=\"cpu\""))
           : fmt::format("cuda:{} does not exist; this machine has cuda:0 to cuda:{}", device,
                         device_count() - 1));
}

void* allocate(int device, std::size_t bytes) {
  const DeviceScope scope(device);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaMalloc");
  return data;
}

void release(int device, void* data) noexcept {
  (void)device;    // cudaFree finds the device from the address
  cudaFree(data);  // fails harmlessly at shutdown, when the driver may be gone
}

void* allocate_pinned(std::size_t bytes) {
  enter_thread();
  void* data = nullptr;
  const cudaError_t status = cudaHostAlloc(&data, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaHostAlloc");
  return data;
}

void release_pinned(void* data) noexcept { cudaFreeHost(data); }

CUstream_st* create_stream(int device) {
  const DeviceScope scope(device);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

void synchronize(int device, CUstream_st* stream) {
  const DeviceScope scope(device);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void synchronize_device(int device) {
  const DeviceScope scope(device);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

namespace {

bool finished(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, call);
  return true;
}

}  // namespace

bool done(int device, CUstream_st* stream) {
  const DeviceScope scope(device);
  return finished(cudaStreamQuery(stream), "cudaStreamQuery");
}

void wait(int device, CUstream_st* stream, CUevent_st* event) {
  const DeviceScope scope(device);
  check(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

CUevent_st* create_event(int device, bool timed) {
  const DeviceScope scope(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
        "cudaEventCreate");
  return event;
}

void destroy_event(CUevent_st* event) noexcept { cudaEventDestroy(event); }

void record(int device, CUevent_st* event, CUstream_st* stream) {
  const DeviceScope scope(device);
  check(cudaEventRecord(event, stream), "cudaEventRecord");
}

bool done(CUevent_st* event) {
  enter_thread();
  return finished(cudaEventQuery(event), "cudaEventQuery");
}

void synchronize(CUevent_st* event) {
  enter_thread();
  check(cudaEventSynchronize(event), "cudaEventSynchronize");
}

double milliseconds(CUevent_st* start, CUevent_st* end) {
  float elapsed = 0;
  check(cudaEventElapsedTime(&elapsed, start, end), "cudaEventElapsedTime");
  return elapsed;
}

void copy_async(int device, void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  const DeviceScope scope(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

void fill_async(int device, void* data, int byte, std::size_t bytes, CUstream_st* stream) {
  const DeviceScope scope(device);
  check(cudaMemsetAsync(data, byte, bytes, stream), "cudaMemsetAsync");
}

void begin_capture(int device, CUstream_st* stream) {
  const DeviceScope scope(device);
  // Relaxed: the pool may have to allocate a new segment during a capture.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
}

CUgraphExec_st* end_capture(int device, CUstream_st* stream, bool keep) {
  const DeviceScope scope(device);
  cudaGraph_t graph = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream, &graph);
  if (!keep) {
    cudaGetLastError();
    if (graph != nullptr) cudaGraphDestroy(graph);
    return nullptr;
  }
  check(status, "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t instantiated = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(instantiated, "cudaGraphInstantiate");
  return executable;
}

void launch_graph(int device, CUgraphExec_st* graph, CUstream_st* stream) {
  const DeviceScope scope(device);
  check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
}

void destroy_graph(CUgraphExec_st* graph) noexcept { cudaGraphExecDestroy(graph); }

CUlib_st* load_code(const void* image) {
  cudaLibrary_t code = nullptr;
  check(cudaLibraryLoadData(&code, image, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cudaLibraryLoadData");
  return code;
}

void unload_code(CUlib_st* code) noexcept { cudaLibraryUnload(code); }

CUkern_st* find_kernel(CUlib_st* code, const char* name) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t status = cudaLibraryGetKernel(&kernel, code, name);
  if (status == cudaErrorSymbolNotFound) {
    cudaGetLastError();
    return nullptr;
  }
  check(status, "cudaLibraryGetKernel");
  return kernel;
}

KernelResources resources(int device, CUkern_st* kernel) {
  const DeviceScope scope(device);
  cudaFuncAttributes found{};
  check(cudaFuncGetAttributes(&found, kernel), "cudaFuncGetAttributes");
  return {found.maxThreadsPerBlock, found.numRegs, found.sharedSizeBytes, found.localSizeBytes};
}

int active_blocks(int device, CUkern_st* kernel, int block_size, std::size_t shared_bytes) {
  const DeviceScope scope(device);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_size, shared_bytes),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return blocks;
}

void launch_kernel(const char* name, int device, CUstream_st* stream, CUkern_st* kernel,
                   const GridSize& size, void** arguments) {
  const DeviceScope scope(device);
  constexpr std::size_t kStaticLimit = 48 * 1024;
  if (size.shared_bytes > kStaticLimit) {
    check(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(size.shared_bytes), device),
          name);
  }
  const auto extent = [](const std::array<unsigned, 3>& n) { return dim3(n[0], n[1], n[2]); };
  check(cudaLaunchKernel(kernel, extent(size.grid), extent(size.block), arguments,
                         size.shared_bytes, stream),
        name);
  if (internal::synchronize_launches()) check(cudaStreamSynchronize(stream), name);
}

void push_range(const char* name) { nvtxRangePushA(name); }
void pop_range() { nvtxRangePop(); }

}  // namespace causeway::driver
