// The base class of layers and models: parameters, buffers and submodules, by name.
#pragma once

#include "causeway/autograd/tape.h"

#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causeway::nn {

using NamedTensor = std::pair<std::string, Tensor>;

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Modules whose forward takes other arguments define their own functions.
  virtual Tensor forward(const Tensor& x);
  Tensor operator()(const Tensor& x) { return forward(x); }

  // In the order of registration, submodules after parameters; names are like "layers.0.weight". A
  // shared tensor is listed once, under its first name.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> parameters() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children() const;
  std::int64_t n_parameters() const;

  // State dict: parameters and buffers under all their names.
  std::map<std::string, Tensor> state() const;
  // Copies values in; throws if a key is missing or unexpected, or a shape differs.
  void load_state(const std::map<std::string, Tensor>& state);

  // Sets training or evaluation mode, for dropout and batch norm.
  void train(bool training = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  // Moves or converts parameters and buffers. Only floating ones are converted; buffers become f64
  // for f64, otherwise f32. Handles taken before are detached from the module if anything changed.
  void to(Device device);
  void to(DType dtype);
  void zero_grad();

  // The reference stays valid and always refers to the module's current tensor.
  Tensor& add_parameter(const std::string& name, const Tensor& values);
  Tensor& add_buffer(const std::string& name, const Tensor& values);
  void add_module(const std::string& name, std::shared_ptr<Module> part);
  // Removes the parameter, buffer or submodule of this name.
  void remove(const std::string& name);
  // A parameter or buffer of this module itself, and all of them.
  std::optional<Tensor> find(const std::string& name) const;
  const std::list<NamedTensor>& own_parameters() const { return parameters_; }
  const std::list<NamedTensor>& own_buffers() const { return buffers_; }

 private:
  template <class Body>
  void visit(const std::string& prefix, const Body& body) const;
  // Maps old to new parameters, so that shared parameters stay shared.
  using Moved = std::map<std::shared_ptr<autograd::Record>, Tensor>;
  template <class Parameter, class Buffer>
  void convert(const Parameter& parameter, const Buffer& buffer, Moved& moved);

  // Lists, since layers hold references to the elements.
  std::list<NamedTensor> parameters_;
  std::list<NamedTensor> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

// Submodules applied in order, named "0", "1", ...
class Sequential : public Module {
 public:
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& parts);
  Tensor forward(const Tensor& x) override;
};

}  // namespace causeway::nn
