// Kernel operands (typed, strided memory), and the selection of a kernel by device.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/interrupt.h"
#include "causeway/core/shape.h"
#include "causeway/runtime/memory_name.h"
#include "causeway/runtime/profiler.h"
#include "causeway/runtime/stream.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace causeway::kernels {

struct Operand {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;         // in elements
  bool immediate = false;  // `data` is one value in host memory, for any device
};

// A tensor as three dimensions around one axis, contiguous in memory.
struct Cube {
  std::int64_t outer = 1;  // all dimensions before the axis
  std::int64_t axis = 1;
  std::int64_t inner = 1;  // all dimensions after it

  std::int64_t count() const { return outer * axis * inner; }
};

// Bytes of the distinct elements of an operand.
double bytes_of(const Operand& operand);

namespace internal {

template <class T>
double bytes_of_argument(const T& argument) {
  if constexpr (std::is_same_v<T, Operand>) {
    return bytes_of(argument);
  } else {
    return 0;
  }
}

// Joins "binary" and BinaryOp::add to "binary.add".
template <class First, class... Rest>
std::string profile_name(const char* kernel, const First& first, const Rest&...) {
  if constexpr (std::is_enum_v<First>) {
    return std::string(kernel) + "." + std::string(to_string(first));
  } else {
    return kernel;
  }
}

}  // namespace internal

// The CPU and CUDA implementation of one kernel. A call selects one by the stream's device and,
// with the profiler on, times it under its name. What it allocates is counted as "workspaces".
template <class... Args>
struct Kernel {
  const char* name;
  void (*cpu)(StreamView, Args...);
  void (*cuda)(StreamView, Args...);

  void operator()(StreamView stream, Args... args) const {
    check_interrupt();
    const memory_name::WorkspaceScope workspaces;
    const auto chosen = stream.device().is_cuda() ? cuda : cpu;
    if (!profiler::enabled()) return chosen(stream, args...);
    const double bytes = (internal::bytes_of_argument<std::remove_cvref_t<Args>>(args) + ...);
    const profiler::Scope scope(internal::profile_name(name, args...), profiler::Kind::kernel,
                                stream, bytes);
    chosen(stream, args...);
  }
};
template <class... Args>
Kernel(const char*, void (*)(StreamView, Args...), void (*)(StreamView, Args...))
    -> Kernel<Args...>;

// Declares kernel `name` with these arguments after the stream: both implementations and a callable
// that selects one.
#define CAUSEWAY_KERNEL(name, ...)                  \
  namespace cpu {                                   \
  void name(StreamView __VA_OPT__(, ) __VA_ARGS__); \
  }                                                 \
  namespace cuda {                                  \
  void name(StreamView __VA_OPT__(, ) __VA_ARGS__); \
  }                                                 \
  inline constexpr Kernel name { #name, cpu::name, cuda::name }

}  // namespace causeway::kernels
