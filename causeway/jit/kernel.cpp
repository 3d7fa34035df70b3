#include "causeway/jit/kernel.h"

#include "causeway/core/error.h"
#include "causeway/core/nearest.h"
#include "causeway/jit/cpu_kernel.h"
#include "causeway/jit/gpu_kernel.h"
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/profiler.h"

#include <fmt/format.h>

#include <mutex>

namespace causeway::jit {

struct Kernel::State {
  State(lang::Module compiled, int kernel)
      : module(std::move(compiled)),
        index(kernel),
        name(function().name),
        traits(traits_of(module, kernel)),
        cpu(module, kernel, traits),
        gpu(module, kernel, traits) {}

  const lang::Function& function() const {
    return module.functions[static_cast<std::size_t>(index)];
  }

  lang::Module module;
  int index;
  std::string name;
  KernelTraits traits;
  CpuKernel cpu;
  GpuKernel gpu;
  std::once_flag adjoint_once;
  std::unique_ptr<Kernel> adjoint;
};

Kernel::Kernel(lang::Module module, int kernel)
    : state_(std::make_shared<State>(std::move(module), kernel)) {}

const std::string& Kernel::name() const { return state_->name; }
const lang::Module& Kernel::module() const { return state_->module; }
int Kernel::index() const { return state_->index; }
const lang::Function& Kernel::function() const { return state_->function(); }
const KernelTraits& Kernel::traits() const { return state_->traits; }

namespace {

void check_options(const std::string& name, Device device, const LaunchOptions& options) {
  const std::string operation = "kernel " + name;
  if (options.stream && options.stream->device() != device) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("the stream is on {}, the launch on {}", to_string(options.stream->device()),
                     to_string(device)));
  }
  if (options.checked && device.is_cuda()) {
    fail(ErrorKind::invalid_argument, operation,
         "checked launches run on the CPU; pass CPU arrays");
  }
  if (options.block_size < 0 || options.block_size > 1024 || options.block_size % 32 != 0) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("a block has 32 to 1024 threads, a multiple of 32; got {}",
                     options.block_size));
  }
}

// Block reductions depend on the size of a block, and all of its threads take part.
void check_blocks(const std::string& name, Device device, std::int64_t total, int block_size) {
  const int size = block_size == 0 ? kReductionBlock : block_size;
  if (!device.is_cuda() && size != kReductionBlock) {
    fail(
        ErrorKind::invalid_argument, "kernel " + name,
        fmt::format("reduces over blocks, which have {} threads on the CPU; got a block size of {}",
                    kReductionBlock, size));
  }
  if (total % size != 0) {
    fail(ErrorKind::invalid_argument, "kernel " + name,
         fmt::format("reduces over blocks of {} threads; the launch has {}, which is no multiple",
                     size, total));
  }
}

}  // namespace

bool Kernel::launch(std::span<const std::int64_t> dims, std::span<const Argument> arguments,
                    const LaunchOptions& options) const {
  const lang::Function& function = state_->function();
  const KernelTraits& traits = state_->traits;
  check_dims(function, dims);
  const BoundArguments bound =
      bind_arguments(state_->module, function, traits, arguments,
                     options.device.value_or(Device::cpu()), options.device.has_value());
  check_options(name(), bound.device, options);
  const std::int64_t total = product(dims);
  if (traits.uses_blocks) check_blocks(name(), bound.device, total, options.block_size);
  if (total == 0) return true;
  const StreamView stream = options.stream.value_or(current_stream(bound.device));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor) continue;
    arguments[i].tensor->storage()->buffer.used_on(stream);
    if (traits.arrays[i].written()) ++arguments[i].tensor->storage()->n_writes;
  }
  if (bound.device.is_cuda()) {
    const int block_size = options.tune && options.block_size == 0 && !capturing()
                               ? tuned_block_size(dims, arguments, stream)
                               : options.block_size;
    return state_->gpu.launch(dims, bound, stream, block_size);
  }
  std::optional<profiler::Scope> timed;
  if (profiler::enabled()) timed.emplace(name(), profiler::Kind::kernel, stream, 0.0);
  return state_->cpu.launch(dims, bound, options.checked);
}

int Kernel::tuned_block_size(std::span<const std::int64_t> dims,
                             std::span<const Argument> arguments, StreamView stream) const {
  std::vector<Argument> copies(arguments.begin(), arguments.end());
  return state_->gpu.tuned_block_size(dims, stream, [&] {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (state_->traits.arrays[i].written()) copies[i].tensor = copies[i].tensor->clone();
    }
    return bind_arguments(state_->module, state_->function(), state_->traits, copies,
                          stream.device(), true);
  });
}

const Kernel& Kernel::adjoint() const {
  std::call_once(state_->adjoint_once, [&] {
    lang::Module module = state_->module;
    const int index = lang::add_adjoint(module, state_->index);
    state_->adjoint = std::make_unique<Kernel>(std::move(module), index);
  });
  return *state_->adjoint;
}

lang::Emitted Kernel::emitted(const lang::EmitOptions& options) const {
  return lang::emit(state_->module, state_->index, options);
}

KernelResources Kernel::resources(Device device) const { return state_->gpu.resources(device); }

int find_kernel(const lang::Module& module, std::string_view name) {
  std::vector<std::string> names;
  int found = -1;
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const lang::Function& function = module.functions[i];
    if (function.kind != lang::FunctionKind::kernel) continue;
    names.emplace_back(function.name);
    if (name.empty() || function.name == name) found = static_cast<int>(i);
    if (function.name == name) return found;
  }
  const std::string file = module.source == nullptr ? "the text" : module.source->name();
  if (names.empty()) {
    fail(ErrorKind::invalid_argument, "kernel",
         fmt::format("{} has no kernel; write @cw.kernel before a function", file));
  }
  if (name.empty() && names.size() == 1) return found;
  if (name.empty()) {
    fail(ErrorKind::invalid_argument, "kernel",
         fmt::format("{} has {} kernels; name one of {}", file, names.size(),
                     fmt::join(names, ", ")));
  }
  const std::string near = causeway::nearest_name(name, names);
  fail(ErrorKind::invalid_argument, "kernel",
       fmt::format("{} has no kernel \"{}\"; {}", file, name,
                   near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                : fmt::format("did you mean \"{}\"?", near)));
}

Kernel make_kernel(std::string file, std::string text, std::string_view name,
                   const lang::CompileOptions& options) {
  lang::Module module = lang::compile(std::move(file), std::move(text), options);
  const int index = find_kernel(module, name);
  return {std::move(module), index};
}

}  // namespace causeway::jit
