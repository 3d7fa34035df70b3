// The interface to CUDA: every CUDA call of the runtime, in plain types. cuda_driver.cpp implements
// it with the CUDA runtime; no_cuda.cpp, for builds without CUDA, has no devices. Functions throw
// device errors that name the call; `device` is always a CUDA device index.
#pragma once

#include "causeway/runtime/device.h"
#include "causeway/runtime/device_code.h"

#include <cstddef>
#include <string>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;
struct CUlib_st;
struct CUkern_st;

namespace causeway::driver {

int device_count();
std::string absence();
std::string runtime_version();  // "13.0", or "" without CUDA
std::string driver_version();
DeviceInfo describe(int device);
std::string uuid(int device);  // "GPU-5a1f…", as nvidia-smi -L shows it

// Throws a device error that names the device unless it exists.
void require_device(int device);

// Each thread makes this its current device at its first call, and so opens no context on another.
void set_default_device(int device);

// Returns nullptr when out of memory.
void* allocate(int device, std::size_t bytes);
void release(int device, void* data) noexcept;
void* allocate_pinned(std::size_t bytes);
void release_pinned(void* data) noexcept;

// Virtual memory (virtual_memory.h): the bytes of a page, 0 where the device has none. `reserve`
// returns nullptr when out of addresses; `map` returns false when out of memory, with nothing
// mapped.
std::size_t page_size(int device);
void* reserve(std::size_t bytes);
void unreserve(void* range, std::size_t bytes) noexcept;
bool map(int device, void* pages, std::size_t bytes, std::size_t page_size);
void unmap(void* pages, std::size_t bytes, std::size_t page_size) noexcept;

CUstream_st* create_stream(int device);
void synchronize(int device, CUstream_st* stream);
void synchronize_device(int device);
bool done(int device, CUstream_st* stream);
void wait(int device, CUstream_st* stream, CUevent_st* event);

CUevent_st* create_event(int device, bool timed);
void destroy_event(CUevent_st* event) noexcept;
void record(int device, CUevent_st* event, CUstream_st* stream);
bool done(CUevent_st* event);
void synchronize(CUevent_st* event);
double milliseconds(CUevent_st* start, CUevent_st* end);

// Between any two of device and host memory; CUDA infers the direction from the pointers.
void copy_async(int device, void* to, const void* from, std::size_t bytes, CUstream_st* stream);
void fill_async(int device, void* data, int byte, std::size_t bytes, CUstream_st* stream);

void begin_capture(int device, CUstream_st* stream);
// Ends the capture; with `keep` false, discards the graph and returns nullptr.
CUgraphExec_st* end_capture(int device, CUstream_st* stream, bool keep);
void launch_graph(int device, CUgraphExec_st* graph, CUstream_st* stream);
void destroy_graph(CUgraphExec_st* graph) noexcept;

// Device code loaded at run time (device_code.h). `image` is a cubin; find_kernel returns nullptr
// if the code has no kernel of that name.
CUlib_st* load_code(const void* image);
void unload_code(CUlib_st* code) noexcept;
CUkern_st* find_kernel(CUlib_st* code, const char* name);
KernelResources resources(int device, CUkern_st* kernel);
// Blocks of that size that one multiprocessor runs at a time; 0 if it is too large.
int active_blocks(int device, CUkern_st* kernel, int block_size, std::size_t shared_bytes);
void launch_kernel(const char* name, int device, CUstream_st* stream, CUkern_st* kernel,
                   const GridSize& size, void** arguments);

void push_range(const char* name);  // NVTX
void pop_range();

}  // namespace causeway::driver
