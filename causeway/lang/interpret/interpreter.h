// Runs kernels on the CPU from the IR, 64 threads at a time: the reference for all other backends.
#pragma once

#include "causeway/lang/ir/ir.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace causeway::lang {

// Memory of the caller. Strides are in bytes.
struct ArrayView {
  void* data = nullptr;
  std::int64_t shape[kMaxArrayDims] = {};
  std::int64_t strides[kMaxArrayDims] = {};
};

// A row-major view.
ArrayView contiguous(void* data, std::span<const std::int64_t> shape, std::size_t element_bytes);

// One parameter of the kernel: an array, or the bytes of a value in C layout.
struct Argument {
  ArrayView array = {};
  const void* value = nullptr;
};

struct InterpretOptions {
  // Reports indices out of range, integer division by zero, failed asserts and variables that are
  // read before they are assigned. Without it, out-of-range loads give zero and stores do nothing.
  bool checked = true;
  // Maximum number of regions executed, after which the launch fails as an endless loop.
  std::uint64_t step_limit = 100'000'000;
};

inline constexpr int kLanes = 64;  // threads at a time, and a block's size in block reductions

class Interpreter {
 public:
  // Plans the kernel; the module must outlive the interpreter.
  Interpreter(const Module& module, int kernel, const InterpretOptions& options = {});
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;

  // Runs dims[0] x … threads; one argument for each parameter of the kernel. Throws Error with the
  // source location if a check fails, and ErrorKind::interrupted in an interruptible thread. Can be
  // called repeatedly.
  void launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments);
  // Runs threads [first, last) of that launch only, the last coordinate changing fastest.
  void launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
              std::int64_t first, std::int64_t last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace causeway::lang
