// A kernel of the language, ready to launch on every device.
//
//   const jit::Kernel saxpy = jit::make_kernel("saxpy.py", text, "saxpy");
//   saxpy.launch({n}, {2.0, x, y});
#pragma once

#include "causeway/jit/arguments.h"
#include "causeway/lang/compile.h"
#include "causeway/runtime/device_code.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace causeway::jit {

struct LaunchOptions {
  std::optional<Device> device = {};      // that of the arrays, else the CPU
  std::optional<StreamView> stream = {};  // the device's current stream
  // Threads of a block on a GPU; 0: chosen by occupancy, or 64 for kernels with block reductions.
  int block_size = 0;
  // Chooses the block size by measurement, at the first launch of about this size; the choice is
  // remembered on disk. Not inside a graph capture.
  bool tune = false;
  // Stops at indices out of range, integer divisions by zero, failed asserts and endless loops with
  // the place in the source. On the CPU only, and slow.
  bool checked = false;
};

// Copies share one kernel. Thread-safe.
class Kernel {
 public:
  Kernel(lang::Module module, int kernel);

  const std::string& name() const;
  const lang::Module& module() const;
  int index() const;  // in module()
  const lang::Function& function() const;
  const KernelTraits& traits() const;

  // One argument per parameter of function(). Records nothing on the autograd tape: see
  // differentiable.h. Returns false if an adjoint kernel needed more tape than there was: its
  // gradients are then incomplete, and the next launch has enough.
  bool launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
              const LaunchOptions& options = {}) const;
  bool launch(std::initializer_list<std::int64_t> dims, std::initializer_list<Argument> arguments,
              const LaunchOptions& options = {}) const {
    return launch(std::span(dims.begin(), dims.size()),
                  std::span(arguments.begin(), arguments.size()), options);
  }

  // From gradients of what the kernel wrote to gradients of what it read (lang/adjoint/adjoint.h);
  // made at the first call.
  const Kernel& adjoint() const;

  lang::Emitted emitted(const lang::EmitOptions& options = {}) const;
  // Compiled for a CUDA device, without launching it.
  KernelResources resources(Device device) const;

 private:
  int tuned_block_size(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
                       StreamView stream) const;

  struct State;
  std::shared_ptr<State> state_;
};

// Compiles kernel text (file name and text are for messages) and takes the kernel of that name, or
// the only one if it is empty. Throws lang::CompileError, and invalid_argument for a name that the
// text does not have.
Kernel make_kernel(std::string file, std::string text, std::string_view name,
                   const lang::CompileOptions& options = {});
// The same from a compiled module.
int find_kernel(const lang::Module& module, std::string_view name);

}  // namespace causeway::jit
