// A kernel on the CPU: interpreted, and compiled by the system's compiler once that pays. Both give
// the same bits. Thread-safe.
#pragma once

#include "causeway/jit/arguments.h"
#include "causeway/jit/native.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace causeway::jit {

class CpuKernel {
 public:
  // The module must outlive it.
  CpuKernel(const lang::Module& module, int kernel, const KernelTraits& traits);

  // Runs all threads. `checked` stops at indices out of range, integer divisions by zero, failed
  // asserts and endless loops, with the place in the source. Returns false if an adjoint kernel
  // needed more tape than there was; the next launch has enough.
  bool launch(std::span<const std::int64_t> dims, const BoundArguments& arguments, bool checked);

 private:
  // The kernel compiled for one kind of arguments.
  struct Native {
    bool tried = false;
    lang::Emitted emitted;
    NativeFunction call = nullptr;  // null until it is compiled
  };
  // A compiled one, which does not change any more; no function if there is none yet.
  struct Ready {
    const lang::Emitted* emitted = nullptr;
    NativeFunction call = nullptr;
  };

  const lang::Function& function() const;
  bool in_any_order(const BoundArguments& arguments) const;
  // Looks for the compiled kernel in memory and on disk; makes it if `compile`.
  Ready native(const BoundArguments& arguments, bool compile);
  void make_native(Native& form, const BoundArguments& arguments, bool compile);
  // Runs threads whose first coordinate is in [begin, end).
  void interpret(std::span<const std::int64_t> dims, const BoundArguments& arguments,
                 std::int64_t begin, std::int64_t end);
  bool run_native(const Ready& native, std::span<const std::int64_t> dims,
                  const BoundArguments& arguments, std::int64_t begin);
  std::unique_ptr<lang::Interpreter> take_interpreter();

  const lang::Module& module_;
  int kernel_;
  const KernelTraits& traits_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<lang::Interpreter>> idle_;  // not in use at the moment
  Native natives_[4];                                     // by strided and overlapping
  std::atomic<double> interpreted_seconds_ = 0;
  std::atomic<int> tape_capacity_ = 256;
};

}  // namespace causeway::jit
