// Autograd: gradients of tensors, hooks, custom functions, activation checkpointing, gradcheck.
#include "causeway/autograd/autocast.h"
#include "causeway/autograd/checkpoint.h"
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/gradcheck.h"
#include "causeway/autograd/step_graph.h"
#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "python/bind.h"
#include "python/casters.h"

#include <mutex>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace causeway::python {

namespace {

// A Python function that C++ can hold, call and drop from any thread.
class Callable {
 public:
  explicit Callable(nb::callable function)
      : function_(function.ptr()), alive_(keep_alive(std::move(function))) {}

  // Calls the function with the GIL held and passes the result to `read`.
  template <class Read, class... Args>
  auto operator()(const Read& read, const Args&... args) const {
    const nb::gil_scoped_acquire held;
    return read(nb::borrow<nb::callable>(function_)(args...));
  }

 private:
  PyObject* function_;
  std::shared_ptr<void> alive_;
};

// Checks the result of a Python function.
Tensor read_tensor(nb::handle result) {
  if (nb::isinstance<Tensor>(result)) return nb::cast<Tensor>(result);
  throw nb::type_error(("the function returned a " +
                        nb::cast<std::string>(result.type().attr("__name__")) +
                        "; expected a tensor")
                           .c_str());
}

std::vector<Tensor> read_tensors(const nb::object& result) {
  const bool several = nb::isinstance<nb::list>(result) || nb::isinstance<nb::tuple>(result);
  if (!several) return {read_tensor(result)};
  std::vector<Tensor> tensors;
  for (nb::handle entry : result) tensors.push_back(read_tensor(entry));
  return tensors;
}

std::optional<Tensor> read_optional(const nb::object& result) {
  if (result.is_none()) return std::nullopt;
  return read_tensor(result);
}

// Records an operation whose gradient rule is the Python function `rule`: it takes the gradients of
// the results and returns gradients (or None) of the inputs.
std::vector<Tensor> record_function(const std::string& name, const std::vector<Tensor>& results,
                                    const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& saved, nb::callable function) {
  std::vector<const Tensor*> from;
  for (const Tensor& input : inputs) from.push_back(&input);
  std::vector<Tensor> plain;
  for (const Tensor& result : results) plain.push_back(autograd::detach(result));
  // The tape does not own names, so each is kept for the life of the process.
  static auto* names = new std::map<std::string, std::string>();
  const char* kept = names->emplace(name, name).first->second.c_str();
  const int n_results = static_cast<int>(results.size());
  const std::size_t n_inputs = inputs.size();
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const auto rule = std::make_shared<Callable>(std::move(function));
  autograd::Reads reads;
  for (const Tensor& tensor : saved) reads.push_back(&tensor);
  return autograd::record_all(kept, std::move(plain), from, reads, [=](autograd::Backward& pass) {
    std::vector<Tensor> gradients;
    for (int i = 0; i < n_results; ++i) gradients.push_back(pass.gradient(i));
    const auto given = (*rule)(
        [](const nb::object& result) {
          std::vector<std::optional<Tensor>> list;
          for (nb::handle entry : nb::borrow<nb::sequence>(result)) {
            list.push_back(read_optional(nb::borrow(entry)));
          }
          return list;
        },
        gradients);
    if (given.size() != n_inputs) {
      fail(ErrorKind::invalid_argument, kept,
           "backward returned " + std::to_string(given.size()) + " gradients for " +
               std::to_string(n_inputs) + " inputs; return None for inputs without a gradient");
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!given[i].has_value()) continue;
      if (given[i]->shape() != shapes[i]) {
        fail(ErrorKind::shape_mismatch, kept,
             "backward returned a gradient of shape " + to_string(given[i]->shape()) +
                 " for input " + std::to_string(i) + " of shape " + to_string(shapes[i]));
      }
      pass.accumulate(static_cast<int>(i), *given[i]);
    }
  });
}

std::vector<Tensor> run_checkpoint(nb::callable function, const std::vector<Tensor>& inputs) {
  const auto block = std::make_shared<Callable>(std::move(function));
  return without_gil([&] {
    return autograd::checkpoint(
        [block](const std::vector<Tensor>& given) { return (*block)(read_tensors, given); },
        inputs);
  });
}

void check_gradients(nb::callable function, const std::vector<Tensor>& inputs, double step,
                     double absolute, double relative) {
  const Callable block(std::move(function));
  without_gil([&] {
    autograd::gradcheck(
        [&](const std::vector<Tensor>& given) { return block(read_tensors, given).at(0); }, inputs,
        {step, absolute, relative});
  });
}

void bind_leaves(TensorClass& tensor) {
  tensor
      .def_prop_rw("requires_grad", &autograd::requires_grad, &autograd::set_requires_grad,
                   "Whether gradients are computed for the tensor; can be set on leaves.")
      .def(
          "requires_grad_",
          [](nb::handle_t<Tensor> self, bool wanted) {
            autograd::set_requires_grad(nb::cast<Tensor&>(self), wanted);
            return nb::borrow(self);
          },
          "requires_grad"_a = true,
          nb::sig("def requires_grad_(self, requires_grad: bool = True) -> Tensor"),
          "Sets whether the tensor, a leaf, requires a gradient, and returns it.")
      .def_prop_ro("is_leaf", &autograd::is_leaf,
                   "Whether the tensor is not the result of a tracked operation.")
      .def_prop_rw(
          "grad", &autograd::gradient_of,
          [](Tensor& x, std::optional<Tensor> gradient) {
            autograd::set_gradient(x, std::move(gradient));
          },
          nb::for_setter(nb::arg("gradient").none()),
          "The gradient of a leaf, summed over backward() calls; None before the first.")
      .def(
          "backward",
          [](const Tensor& x, std::optional<Tensor> gradient, bool retain) {
            without_gil([&] { autograd::backward(x, gradient, retain); });
          },
          "gradient"_a = nb::none(), "retain_graph"_a = false,
          "Computes the gradients of all leaves this tensor depends on and adds them to their "
          "grad.")
      .def("detach", &autograd::detach, "A tensor that shares the memory and is not tracked.")
      .def(
          "_add_hook",
          [](const Tensor& x, nb::callable function) {
            const auto hook = std::make_shared<Callable>(std::move(function));
            return autograd::add_hook(
                x, [hook](const Tensor& gradient) { return (*hook)(read_optional, gradient); });
          },
          "hook"_a)
      .def("_remove_hook", &autograd::remove_hook, "id"_a);
}

// A step graph with a Python body. The body is held during calls only: its owner may own the graph
// too, and Python must see that cycle to collect both.
class PyStepGraph {
 public:
  explicit PyStepGraph(Device device)
      : graph_(device, [this](const std::vector<Tensor>& inputs) {
          return (*body_)(read_tensors, inputs);
        }) {}
  PyStepGraph(const PyStepGraph&) = delete;
  PyStepGraph& operator=(const PyStepGraph&) = delete;

  std::vector<Tensor> run(nb::callable body, const std::vector<Tensor>& inputs) {
    const Callable held(std::move(body));
    return without_gil([&] {
      const std::lock_guard one_at_a_time(mutex_);
      const Callable* outer = std::exchange(body_, &held);
      try {
        std::vector<Tensor> results = graph_(inputs);
        body_ = outer;
        return results;
      } catch (...) {
        body_ = outer;
        throw;
      }
    });
  }
  std::size_t n_graphs() const { return graph_.n_graphs(); }

 private:
  autograd::StepGraph graph_;
  std::recursive_mutex mutex_;  // locked without the GIL, which the body needs
  const Callable* body_ = nullptr;
};

}  // namespace

void require_untracked(const char* operation, const Tensor& x) {
  if (!autograd::recording() || !autograd::requires_grad(x)) return;
  fail(ErrorKind::invalid_argument, operation,
       "in-place write to a tensor that requires a gradient; use no_grad(), or write x = x … "
       "instead");
}

void require_untracked_source(const char* operation, const Tensor& source) {
  if (!autograd::recording() || !autograd::requires_grad(source)) return;
  fail(ErrorKind::invalid_argument, operation,
       "in-place write of a value that requires a gradient, which would be lost; write x = x … "
       "instead, or detach() the value");
}

void bind_autograd(nb::module_& module, TensorClass& tensor) {
  bind_leaves(tensor);
  module.def("is_grad_enabled", &autograd::recording, "Whether operations are tracked.");
  nb::class_<autograd::RecordingGuard>(module, "_RecordingGuard").def(nb::init<bool>(), "on"_a);
  nb::class_<autograd::Autocast>(module, "_Autocast")
      .def(
          "__init__",
          [](autograd::Autocast* self, Maybe<DTypeArg> dtype) {
            std::optional<DType> type;
            if (dtype.value.has_value()) type = dtype.value->value;
            new (self) autograd::Autocast(type);
          },
          "dtype"_a.none());
  module.def("_autocast_type", [] { return autograd::autocast_type(); });
  nb::class_<autograd::DetectAnomaly>(module, "_DetectAnomaly")
      .def(nb::init<std::int64_t>(), "step"_a);
  module.def("_record", record_function, "name"_a, "results"_a, "inputs"_a, "saved"_a, "rule"_a);
  module.def("_checkpoint", run_checkpoint, "block"_a, "inputs"_a);
  module.def("_live_nodes", &autograd::live_nodes);
  module.def(
      "gradcheck", check_gradients, "function"_a, "inputs"_a, "eps"_a = 1e-6, "atol"_a = 1e-5,
      "rtol"_a = 1e-3,
      "Compares the gradients of function(inputs) with finite differences in f64; raises and "
      "names the element and both values if they disagree.");
  module.def(
      "manual_seed",
      [](std::uint64_t seed) {
        autograd::manual_seed(seed);
        nn::default_generator() = Generator(seed);
      },
      "seed"_a, "Sets the seed of dropout and of parameter initialisation.");
  module.def(
      "begin_step", [](Device device) { without_gil([&] { autograd::begin_step(device); }); },
      "device"_a,
      "Advances the random state of dropout to the next step. Between a forward pass and its "
      "backward() it would change the dropout masks, and backward() raises.");
  nb::class_<PyStepGraph>(module, "_StepGraph")
      .def(nb::init<Device>(), "device"_a)
      .def("__call__", &PyStepGraph::run, "body"_a, "inputs"_a)
      .def_prop_ro("n_graphs", &PyStepGraph::n_graphs);
}

}  // namespace causeway::python
