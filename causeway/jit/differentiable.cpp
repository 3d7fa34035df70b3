#include "causeway/jit/differentiable.h"

#include "causeway/autograd/tape.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

namespace causeway::jit {

namespace {

using lang::ArrayContent;

// Arrays of structs are bytes, which carry no gradient.
bool is_floating_array(const Argument& argument) {
  return argument.tensor && is_floating(argument.tensor->dtype());
}

// Whether the array's content before the launch has a part in that of some array after it.
bool is_input(const ArrayUse& use) {
  return use.read || (use.accumulated && !use.stored && !use.exchanged);
}

// Names on the tape must live for good.
const char* lasting(const std::string& name) {
  static std::mutex mutex;
  static auto* names = new std::set<std::string>();
  const std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

// One recorded launch: what the adjoint needs, and which arguments are inputs and results.
struct Recorded {
  Kernel kernel;
  std::vector<std::int64_t> dims;
  std::vector<Argument> arguments;     // content as the adjoint wants it; scratch from before
  std::vector<std::size_t> inputs;     // parameters that are inputs on the tape
  std::map<std::size_t, int> results;  // parameter to number of the result
  int block_size = 0;

  // One per parameter with a gradient: those of results start with what came from above.
  std::vector<Argument> adjoint_arguments(const std::map<std::size_t, Tensor>& from_above,
                                          std::map<std::size_t, Tensor>& gradients) const;
  void run(autograd::Backward& pass) const;
};

std::vector<Argument> Recorded::adjoint_arguments(const std::map<std::size_t, Tensor>& from_above,
                                                  std::map<std::size_t, Tensor>& gradients) const {
  const lang::Function& adjoint = kernel.adjoint().function();
  std::vector<Argument> list;
  Device device = Device::cpu();
  for (const Argument& argument : arguments) {
    if (argument.tensor) device = argument.tensor->device();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool scratch = adjoint.params[i].content == ArrayContent::scratch;
    list.push_back(arguments[i].tensor && scratch ? Argument(arguments[i].tensor->clone())
                                                  : arguments[i]);
  }
  // Gradients follow in the order of their parameters.
  std::size_t parameter = 0;
  for (std::size_t i = arguments.size(); i < adjoint.params.size(); ++i, ++parameter) {
    const lang::TypeTable& types = kernel.module().types;
    while (!types.has_float(kernel.function().params[parameter].type)) ++parameter;
    const auto above = from_above.find(parameter);
    Tensor gradient;
    if (above != from_above.end()) {
      gradient = above->second.contiguous().clone();
    } else if (arguments[parameter].tensor) {
      const Tensor& x = *arguments[parameter].tensor;
      gradient = zeros(x.shape(), x.dtype(), x.device());
    } else {
      const ElementLayout layout = element_layout(types, kernel.function().params[parameter].type);
      Shape shape = layout.inner;
      shape.insert(0, 1);
      gradient = zeros(shape, layout.dtype, device);
    }
    gradients.insert_or_assign(parameter, gradient);
    list.emplace_back(gradient);
  }
  return list;
}

void Recorded::run(autograd::Backward& pass) const {
  std::map<std::size_t, Tensor> from_above;
  for (const auto& [parameter, number] : results) {
    from_above.emplace(parameter, pass.gradient(number));
  }
  LaunchOptions options;
  options.block_size = block_size;
  std::map<std::size_t, Tensor> gradients;
  // Each repetition has the tape that the one before it asked for.
  while (!kernel.adjoint().launch(dims, adjoint_arguments(from_above, gradients), options)) {
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int input = static_cast<int>(i);
    if (pass.needs(input)) pass.accumulate(input, gradients.at(inputs[i]));
  }
}

// Whether the launch writes memory of the array, as this argument or as another.
bool is_overwritten(const KernelTraits& traits, std::span<const Argument> arguments,
                    std::size_t array) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].tensor && traits.arrays[i].written() &&
        arguments[i].tensor->storage() == arguments[array].tensor->storage()) {
      return true;
    }
  }
  return false;
}

void refuse_written_leaves(const Kernel& kernel, std::span<const Argument> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor || !kernel.traits().arrays[i].written()) continue;
    const Tensor& x = *arguments[i].tensor;
    if (!autograd::requires_grad(x) || !autograd::is_leaf(x)) continue;
    fail(ErrorKind::invalid_argument, "kernel " + kernel.name(),
         fmt::format("argument \"{}\" is a leaf that requires a gradient, and the kernel writes "
                     "it; pass a copy, or launch inside no_grad()",
                     kernel.function().params[i].name));
  }
}

// Exchanged elements take part in the result in a way that adjoints do not follow back.
void refuse_tracked_exchanges(const Kernel& kernel, std::span<const Argument> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArrayUse& use = kernel.traits().arrays[i];
    if (!arguments[i].tensor || !use.exchanged || use.read) continue;
    if (!autograd::requires_grad(*arguments[i].tensor)) continue;
    fail(ErrorKind::invalid_argument, "kernel " + kernel.name(),
         fmt::format("argument \"{}\" is tracked, and an atomic operation replaces its elements; "
                     "pass x.detach()",
                     kernel.function().params[i].name));
  }
}

}  // namespace

std::vector<WrittenArray> launch_differentiable(const Kernel& kernel,
                                                std::span<const std::int64_t> dims,
                                                std::span<const Argument> arguments,
                                                const LaunchOptions& options) {
  const KernelTraits& traits = kernel.traits();
  bool wanted = false;
  if (autograd::recording() && arguments.size() == traits.arrays.size()) {
    refuse_written_leaves(kernel, arguments);
    refuse_tracked_exchanges(kernel, arguments);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      wanted = wanted || (is_floating_array(arguments[i]) && is_input(traits.arrays[i]) &&
                          autograd::requires_grad(*arguments[i].tensor));
    }
  }
  std::vector<WrittenArray> written;
  if (!wanted) {
    kernel.launch(dims, arguments, options);
    for (std::size_t i = 0; autograd::recording() && i < arguments.size(); ++i) {
      if (!arguments[i].tensor || !traits.arrays[i].written()) continue;
      written.push_back({i, autograd::detach(*arguments[i].tensor)});
    }
    return written;
  }
  // What the adjoint needs from before the launch, where the launch overwrites it.
  const lang::Function& adjoint = kernel.adjoint().function();
  auto recorded = std::make_shared<Recorded>(Recorded{kernel,
                                                      {dims.begin(), dims.end()},
                                                      {arguments.begin(), arguments.end()},
                                                      {},
                                                      {},
                                                      options.block_size});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor) continue;
    const bool before = adjoint.params[i].content != ArrayContent::after;
    const bool copied = before && traits.arrays[i].read && is_overwritten(traits, arguments, i);
    const Tensor plain = autograd::detach(*arguments[i].tensor);
    recorded->arguments[i].tensor = copied ? plain.clone() : plain;
  }
  kernel.launch(dims, arguments, options);
  std::vector<const Tensor*> inputs;
  std::vector<Tensor> results;
  autograd::Reads reads;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].tensor) continue;
    const bool written_here = traits.arrays[i].written();
    const bool stale = written_here && adjoint.params[i].content != ArrayContent::after;
    if (!stale) reads.push_back(&*recorded->arguments[i].tensor);
    if (!is_floating_array(arguments[i])) continue;
    if (is_input(traits.arrays[i])) {
      recorded->inputs.push_back(i);
      inputs.push_back(&*arguments[i].tensor);
    }
    if (written_here) {
      recorded->results.emplace(i, static_cast<int>(results.size()));
      results.push_back(autograd::detach(*arguments[i].tensor));
      written.push_back({i, {}});
    }
  }
  const std::vector<Tensor> tracked =
      autograd::record_all(lasting(kernel.name()), std::move(results), inputs, reads,
                           [recorded](autograd::Backward& pass) { recorded->run(pass); });
  for (std::size_t i = 0; i < written.size(); ++i) written[i].tensor = tracked[i];
  return written;
}

}  // namespace causeway::jit
