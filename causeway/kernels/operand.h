// What kernels work on: a typed, strided piece of memory; and how one kernel is found for a device.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/interrupt.h"
#include "causeway/core/shape.h"
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
  bool immediate = false;  // `data` is one value in host memory, whatever the stream's device
};

// A tensor seen as three dimensions around one axis; memory is contiguous.
struct Cube {
  std::int64_t outer = 1;  // all dimensions before the axis
  std::int64_t axis = 1;
  std::int64_t inner = 1;  // all dimensions behind it

  std::int64_t count() const { return outer * axis * inner; }
};

// Bytes of the distinct elements an operand reaches.
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

// "binary" and BinaryOp::add to "binary.add".
template <class First, class... Rest>
std::string profile_name(const char* kernel, const First& first, const Rest&...) {
  if constexpr (std::is_enum_v<First>) {
    return std::string(kernel) + "." + std::string(to_string(first));
  } else {
    return kernel;
  }
}

}  // namespace internal

// The two implementations of one kernel; calling it picks by the stream's device and, when the
// profiler is on, times it under its name.
template <class... Args>
struct Kernel {
  const char* name;
  void (*cpu)(StreamView, Args...);
  void (*cuda)(StreamView, Args...);

  void operator()(StreamView stream, Args... args) const {
    check_interrupt();
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

// Declares kernel `name` with these arguments after the stream, in both backends and as a callable
// that picks one.
#define CAUSEWAY_KERNEL(name, ...)                  \
  namespace cpu {                                   \
  void name(StreamView __VA_OPT__(, ) __VA_ARGS__); \
  }                                                 \
  namespace cuda {                                  \
  void name(StreamView __VA_OPT__(, ) __VA_ARGS__); \
  }                                                 \
  inline constexpr Kernel name { #name, cpu::name, cuda::name }

}  // namespace causeway::kernels
