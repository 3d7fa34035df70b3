// The driver of a build without CUDA: no devices; all other functions throw an error that says so.
#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"

namespace causeway::driver {

namespace {

[[noreturn]] void absent() { fail(ErrorKind::device, "device", "no CUDA device: " + absence()); }

}  // namespace

int device_count() { return 0; }
std::string absence() {
  return "this build has no CUDA support; rebuild with a CUDA 13 toolkit and CAUSEWAY_CUDA=ON";
}
std::string runtime_version() { return ""; }
std::string driver_version() { return ""; }
DeviceInfo describe(int) { absent(); }
std::string uuid(int) { absent(); }
void require_device(int device) {
  fail(ErrorKind::device, "device",
       "cuda:" + std::to_string(device) + " is not available: " + absence());
}
void set_default_device(int) { absent(); }

void* allocate(int, std::size_t) { absent(); }
void release(int, void*) noexcept {}
void* allocate_pinned(std::size_t) { absent(); }
void release_pinned(void*) noexcept {}

std::size_t page_size(int) { return 0; }
void* reserve(std::size_t) { absent(); }
void unreserve(void*, std::size_t) noexcept {}
bool map(int, void*, std::size_t, std::size_t) { absent(); }
void unmap(void*, std::size_t, std::size_t) noexcept {}

CUstream_st* create_stream(int) { absent(); }
void synchronize(int, CUstream_st*) { absent(); }
void synchronize_device(int) { absent(); }
bool done(int, CUstream_st*) { absent(); }
void wait(int, CUstream_st*, CUevent_st*) { absent(); }

CUevent_st* create_event(int, bool) { absent(); }
void destroy_event(CUevent_st*) noexcept {}
void record(int, CUevent_st*, CUstream_st*) { absent(); }
bool done(CUevent_st*) { absent(); }
void synchronize(CUevent_st*) { absent(); }
double milliseconds(CUevent_st*, CUevent_st*) { absent(); }

void copy_async(int, void*, const void*, std::size_t, CUstream_st*) { absent(); }
void fill_async(int, void*, int, std::size_t, CUstream_st*) { absent(); }

void begin_capture(int, CUstream_st*) { absent(); }
CUgraphExec_st* end_capture(int, CUstream_st*, bool) { absent(); }
void launch_graph(int, CUgraphExec_st*, CUstream_st*) { absent(); }
void destroy_graph(CUgraphExec_st*) noexcept {}

CUlib_st* load_code(const void*) { absent(); }
void unload_code(CUlib_st*) noexcept {}
CUkern_st* find_kernel(CUlib_st*, const char*) { absent(); }
KernelResources resources(int, CUkern_st*) { absent(); }
int active_blocks(int, CUkern_st*, int, std::size_t) { absent(); }
void launch_kernel(const char*, int, CUstream_st*, CUkern_st*, const GridSize&, void**) {
  absent();
}

void push_range(const char*) {}
void pop_range() {}

}  // namespace causeway::driver
