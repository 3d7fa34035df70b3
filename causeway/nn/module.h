// A part of a network: parameters, buffers and smaller parts, by name.
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

  // Parts that take something other than one tensor have functions of their own.
  virtual Tensor forward(const Tensor& x);
  Tensor operator()(const Tensor& x) { return forward(x); }

  // In the order they were added, parts after parameters; names are "layers.0.weight". What is
  // there under several names comes once, under the first.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  std::vector<Tensor> parameters() const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children() const;
  std::int64_t n_parameters() const;

  // Parameters and buffers by all their names.
  std::map<std::string, Tensor> state() const;
  // Copies values in; throws where a name is missing or unknown, or a shape differs.
  void load_state(const std::map<std::string, Tensor>& state);

  // Dropout and batch norm differ between training and use.
  void train(bool training = true);
  void eval() { train(false); }
  bool training() const { return training_; }

  // Moves parameters and buffers. For a dtype those are the floating ones, and buffers are f64 in
  // f64, else f32. Handles taken before are no longer the module's, unless nothing changed.
  void to(Device device);
  void to(DType dtype);
  void zero_grad();

  // The reference stays valid, and is the module's tensor whatever becomes of it.
  Tensor& add_parameter(const std::string& name, const Tensor& values);
  Tensor& add_buffer(const std::string& name, const Tensor& values);
  void add_module(const std::string& name, std::shared_ptr<Module> part);
  // Takes a parameter, buffer or part of this name off.
  void remove(const std::string& name);
  // Of this module itself: a parameter or buffer, and all of them.
  std::optional<Tensor> find(const std::string& name) const;
  const std::list<NamedTensor>& own_parameters() const { return parameters_; }
  const std::list<NamedTensor>& own_buffers() const { return buffers_; }

 private:
  template <class Body>
  void visit(const std::string& prefix, const Body& body) const;
  // What became of parameters, so that what was one tensor stays one.
  using Moved = std::map<std::shared_ptr<autograd::Record>, Tensor>;
  template <class Parameter, class Buffer>
  void convert(const Parameter& parameter, const Buffer& buffer, Moved& moved);

  // Lists, since layers hold references to what is in them.
  std::list<NamedTensor> parameters_;
  std::list<NamedTensor> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  bool training_ = true;
};

// Parts one after the other, named "0", "1", …
class Sequential : public Module {
 public:
  explicit Sequential(const std::vector<std::shared_ptr<Module>>& parts);
  Tensor forward(const Tensor& x) override;
};

}  // namespace causeway::nn
