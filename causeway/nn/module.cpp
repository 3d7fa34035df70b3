#include "causeway/nn/module.h"

#include "causeway/core/error.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace causeway::nn {

Tensor Module::forward(const Tensor&) {
  fail(ErrorKind::invalid_argument, "module", "forward(x) is not implemented for this module");
}

// Calls body(module, prefix), this module first.
template <class Body>
void Module::visit(const std::string& prefix, const Body& body) const {
  body(*this, prefix);
  for (const auto& [name, part] : children_) part->visit(prefix + name + ".", body);
}

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> found;
  std::set<const autograd::Record*> seen;
  visit("", [&](const Module& module, const std::string& prefix) {
    for (const auto& [name, tensor] : module.parameters_) {
      if (seen.insert(tensor.record().get()).second) found.emplace_back(prefix + name, tensor);
    }
  });
  return found;
}

std::vector<NamedTensor> Module::named_buffers() const {
  std::vector<NamedTensor> found;
  visit("", [&](const Module& module, const std::string& prefix) {
    for (const auto& [name, tensor] : module.buffers_) found.emplace_back(prefix + name, tensor);
  });
  return found;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> found;
  for (auto& [name, tensor] : named_parameters()) found.push_back(tensor);
  return found;
}

std::vector<std::pair<std::string, std::shared_ptr<Module>>> Module::children() const {
  return children_;
}

std::int64_t Module::n_parameters() const {
  std::int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

std::map<std::string, Tensor> Module::state() const {
  std::map<std::string, Tensor> state;
  visit("", [&](const Module& module, const std::string& prefix) {
    for (const auto& [name, tensor] : module.parameters_) {
      state[prefix + name] = autograd::detach(tensor);
    }
    for (const auto& [name, tensor] : module.buffers_) state[prefix + name] = tensor;
  });
  return state;
}

void Module::load_state(const std::map<std::string, Tensor>& given) {
  const std::map<std::string, Tensor> own = state();
  for (const auto& [name, tensor] : given) {
    if (!own.contains(name)) {
      fail(ErrorKind::format, "load_state",
           fmt::format("unexpected key: the module has no \"{}\"", name));
    }
  }
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      fail(ErrorKind::format, "load_state", fmt::format("key \"{}\" is missing", name));
    }
    if (found->second.shape() != tensor.shape()) {
      fail(ErrorKind::shape_mismatch, "load_state",
           fmt::format("\"{}\" has shape {}, but the module's has shape {}", name,
                       to_string(found->second.shape()), to_string(tensor.shape())));
    }
  }
  for (const auto& [name, tensor] : own) tensor.copy_from(given.at(name));
}

void Module::train(bool training) {
  training_ = training;
  for (const auto& [name, part] : children_) part->train(training);
}

template <class Parameter, class Buffer>
void Module::convert(const Parameter& parameter, const Buffer& buffer, Moved& moved) {
  for (auto& [name, tensor] : parameters_) {
    const autograd::Record& before = *tensor.record();
    const auto [found, is_new] = moved.try_emplace(tensor.record(), tensor);
    if (is_new) {
      Tensor values = parameter(autograd::detach(tensor));
      if (values.dtype() != before.dtype || values.device() != before.device) {
        autograd::set_requires_grad(values, true);
        autograd::set_requires_grad(values, before.wanted);
        values.record()->name = before.name;
        found->second = values;
        moved.emplace(values.record(), values);
      }
    }
    tensor = found->second;
  }
  for (auto& [name, tensor] : buffers_) tensor = buffer(tensor);
  for (const auto& [name, part] : children_) part->convert(parameter, buffer, moved);
}

void Module::to(Device device) {
  Moved moved;
  const auto move = [device](const Tensor& x) { return x.to(device); };
  convert(move, move, moved);
}

void Module::to(DType dtype) {
  Moved moved;
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  convert([dtype](const Tensor& x) { return x.to(dtype); },
          [wide](const Tensor& x) { return is_floating(x.dtype()) ? x.to(wide) : x; }, moved);
}

void Module::zero_grad() {
  for (const Tensor& parameter : parameters()) autograd::set_gradient(parameter, std::nullopt);
}

Tensor& Module::add_parameter(const std::string& name, const Tensor& values) {
  if (!autograd::is_leaf(values)) {
    fail(ErrorKind::invalid_argument, "register_parameter",
         fmt::format("\"{}\" is the result of tracked operations; detach() it", name));
  }
  Tensor leaf = values.is_contiguous() ? values : autograd::detach(values).contiguous();
  // A tracked leaf may be frozen: it keeps its requires_grad.
  if (leaf.record() == nullptr) autograd::set_requires_grad(leaf, true);
  leaf.record()->name = name;
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](const NamedTensor& entry) { return entry.first == name; });
  if (found != parameters_.end()) return found->second = leaf;
  return parameters_.emplace_back(name, leaf).second;
}

Tensor& Module::add_buffer(const std::string& name, const Tensor& values) {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const NamedTensor& entry) { return entry.first == name; });
  if (found != buffers_.end()) return found->second = values;
  return buffers_.emplace_back(name, values).second;
}

void Module::remove(const std::string& name) {
  const auto named = [&](const auto& entry) { return entry.first == name; };
  std::erase_if(parameters_, named);
  std::erase_if(buffers_, named);
  std::erase_if(children_, named);
}

std::optional<Tensor> Module::find(const std::string& name) const {
  for (const auto* list : {&parameters_, &buffers_}) {
    for (const auto& [own, tensor] : *list) {
      if (own == name) return tensor;
    }
  }
  return std::nullopt;
}

void Module::add_module(const std::string& name, std::shared_ptr<Module> part) {
  if (part == nullptr) {
    fail(ErrorKind::invalid_argument, "register_module",
         fmt::format("submodule \"{}\" is None; expected a module", name));
  }
  part->visit("", [&](const Module& module, const std::string&) {
    if (&module == this) {
      fail(ErrorKind::invalid_argument, "register_module",
           fmt::format("\"{}\" contains this module; a module cannot contain itself", name));
    }
  });
  part->visit(name + ".", [](const Module& module, const std::string& prefix) {
    for (const auto& [own, tensor] : module.parameters_) tensor.record()->name = prefix + own;
  });
  const auto found = std::find_if(children_.begin(), children_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found != children_.end()) {
    found->second = std::move(part);
  } else {
    children_.emplace_back(name, std::move(part));
  }
}

Sequential::Sequential(const std::vector<std::shared_ptr<Module>>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) add_module(std::to_string(i), parts[i]);
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor result = x;
  for (const auto& [name, part] : children()) result = part->forward(result);
  return result;
}

}  // namespace causeway::nn
