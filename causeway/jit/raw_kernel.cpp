#include "causeway/jit/raw_kernel.h"

#include "causeway/core/error.h"
#include "causeway/jit/gpu_kernel.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace causeway::jit {

struct RawKernel::State {
  std::string source;
  std::string name;
  std::vector<std::string> options;

  struct Loaded {
    std::unique_ptr<DeviceCode> code;
    DeviceKernel kernel;
  };
  std::mutex mutex;
  std::map<int, Loaded> loaded;  // by architecture

  CudaOptions compile_options(int architecture, CodeKind kind) const {
    CudaOptions all;
    all.architecture = architecture;
    all.kind = kind;
    all.contract = true;
    all.others = options;
    return all;
  }

  const DeviceKernel& kernel(Device device) {
    const int architecture = options_for(device).architecture;
    const std::lock_guard lock(mutex);
    Loaded& found = loaded[architecture];
    if (found.code == nullptr) {
      found.code = std::make_unique<DeviceCode>(
          compile_cuda({name + ".cu", source}, compile_options(architecture, CodeKind::cubin)));
      found.kernel = found.code->kernel(name);
    }
    return found.kernel;
  }
};

RawKernel::RawKernel(std::string source, std::string name, std::vector<std::string> options)
    : state_(std::make_shared<State>()) {
  state_->source = std::move(source);
  state_->name = std::move(name);
  state_->options = std::move(options);
}

const std::string& RawKernel::name() const { return state_->name; }

Bytes RawKernel::compile(int architecture, CodeKind kind) const {
  return compile_cuda({state_->name + ".cu", state_->source},
                      state_->compile_options(architecture, kind));
}

void RawKernel::launch(StreamView stream, const GridSize& size,
                       std::span<const RawArgument> arguments) const {
  const std::string operation = "kernel " + state_->name;
  if (!stream.device().is_cuda()) {
    fail(ErrorKind::device, operation, "CUDA text runs on a CUDA device only");
  }
  std::vector<void*> pointers(arguments.size());
  std::vector<void*> addresses(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor) {
      addresses[i] = const_cast<std::byte*>(arguments[i].number.data());
      continue;
    }
    const Tensor& x = *arguments[i].tensor;
    if (x.device() != stream.device()) {
      fail(ErrorKind::invalid_argument, operation,
           fmt::format("argument {} is on {}, but the launch is on {}", i, to_string(x.device()),
                       to_string(stream.device())));
    }
    x.storage()->buffer.used_on(stream);
    ++x.storage()->n_writes;  // what the text does with it is not known
    pointers[i] = x.data();
    addresses[i] = &pointers[i];
  }
  for (const auto& extent : {size.grid, size.block}) {
    for (const unsigned n : extent) {
      if (n == 0) return;  // nothing to do, as for an empty kernel of the language
    }
  }
  state_->kernel(stream.device()).launch(stream, size, addresses.data());
}

KernelResources RawKernel::resources(Device device) const {
  return state_->kernel(device).resources(device);
}

}  // namespace causeway::jit
