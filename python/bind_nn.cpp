// Layers: causeway.nn. Modules written in Python derive from the same class as those here.
#include "causeway/nn/layers.h"

#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "python/bind.h"
#include "python/casters.h"
#include "python/pairs.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>
#include <nanobind/trampoline.h>

namespace causeway::python {

namespace {

using nn::Module;
using nn::Placement;

// Lets C++ call forward() of a module written in Python.
struct PyModule : Module {
  NB_TRAMPOLINE(Module, 1);
  Tensor forward(const Tensor& x) override { NB_OVERRIDE(forward, x); }
};

using MaybeDType = Maybe<DTypeArg>;
using MaybeDevice = Maybe<Device>;

Placement placement(const MaybeDType& dtype, const MaybeDevice& device, Generator* generator) {
  return {dtype.value_or(DType::f32), device.value_or(Device::cpu()), generator};
}

// Runs the hooks of a module around its forward(); None while no module has any.
nb::object& call_with_hooks() {
  static auto* function = new nb::object(nb::none());
  return *function;
}

template <class Layer>
Tensor call(Layer& self, const Tensor& x) {
  return without_gil([&] { return self.forward(x); });
}

// __call__: runs forward() of the most derived class.
nb::object call_forward(nb::handle self, nb::args args, nb::kwargs kwargs) {
  if (!call_with_hooks().is_none()) return call_with_hooks()(self, *args, **kwargs);
  return self.attr("forward")(*args, **kwargs);
}

// Binds a layer: forward(), __call__ and parameters as attributes.
template <class Layer>
nb::class_<Layer, Module> layer(nb::module_& module, const char* name, const char* doc) {
  nb::class_<Layer, Module> bound(module, name, doc);
  bound.def("forward", &call<Layer>, "x"_a).def("__call__", call_forward);
  return bound;
}

template <class Class>
void parameter(Class& bound, const char* name, const char* doc) {
  bound.def_prop_ro(
      name,
      [key = std::string(name)](const Module& self) -> std::optional<Tensor> {
        for (auto& [own, tensor] : self.named_parameters()) {
          if (own == key) return tensor;
        }
        for (auto& [own, tensor] : self.named_buffers()) {
          if (own == key) return tensor;
        }
        return std::nullopt;
      },
      doc);
}

// An option of an image layer that is a pair.
template <class Class, class Get>
void pair_property(Class& bound, const char* name, const Get& get) {
  bound.def_prop_ro(name, [get](const typename Class::Type& self) { return Pair{get(self)}; });
}

// A module's own tensors: name, whether it is a parameter, and the tensor.
nb::list own_tensors(const Module& self) {
  nb::list list;
  for (const auto& [name, tensor] : self.own_parameters()) {
    list.append(nb::make_tuple(name, true, tensor));
  }
  for (const auto& [name, tensor] : self.own_buffers()) {
    list.append(nb::make_tuple(name, false, tensor));
  }
  return list;
}

void bind_module(nb::module_& module) {
  module.def(
      "_set_call_with_hooks", [](nb::object function) { call_with_hooks() = std::move(function); },
      "function"_a.none());
  nb::class_<Module, PyModule>(module, "_Module", nb::is_weak_referenceable(),
                               "Base class of modules.")
      .def(nb::init<>())
      .def("forward", &call<Module>, "x"_a)
      .def("named_parameters", &Module::named_parameters,
           "Pairs of name (such as \"layers.0.weight\") and tensor, each tensor once.")
      .def("named_buffers", &Module::named_buffers, "Pairs of name and buffer.")
      .def("parameters", &Module::parameters, "All parameters.")
      .def("named_children", &Module::children, "Pairs of name and direct submodule.")
      .def_prop_ro("n_parameters", &Module::n_parameters, "Number of trainable values.")
      .def("state_dict", &Module::state, "Parameters and buffers by name, sharing memory.")
      .def(
          "load_state_dict", &Module::load_state, "state"_a,
          "Copies values into parameters and buffers; raises if a name is missing or unknown, or a "
          "shape differs.")
      .def(
          "train",
          [](nb::handle_t<Module> self, bool mode) {
            nb::cast<Module&>(self).train(mode);
            return nb::borrow(self);
          },
          "mode"_a = true, nb::sig("def train(self, mode: bool = True) -> _Module"),
          "Sets training mode, in which dropout is active and batch norm uses batch statistics.")
      .def(
          "eval",
          [](nb::handle_t<Module> self) {
            nb::cast<Module&>(self).eval();
            return nb::borrow(self);
          },
          nb::sig("def eval(self) -> _Module"), "Sets evaluation mode.")
      .def_prop_ro("training", &Module::training)
      .def(
          "to",
          [](nb::handle_t<Module> self, nb::args arguments, MaybeDevice device, MaybeDType type,
             bool /*non_blocking*/) {
            auto& own = nb::cast<Module&>(self);
            if (device.value.has_value()) own.to(*device.value);
            if (type.value.has_value()) own.to(type.value->value);
            for (nb::handle target : arguments) {
              DType dtype = DType::f32;
              if (nb::isinstance<nb::str>(target) && names_device(nb::cast<std::string>(target))) {
                own.to(nb::cast<Device>(target));
              } else if (read_dtype(target, dtype)) {
                own.to(dtype);
              } else {
                throw nb::type_error("to() takes devices and dtypes");
              }
            }
            return nb::borrow(self);
          },
          "targets"_a, "device"_a = nb::none(), "dtype"_a = nb::none(), "non_blocking"_a = false,
          nb::sig("def to(self, *targets: str | DType | type, device: str | None = None, dtype: "
                  "DType | str | type | None = None, non_blocking: bool = False) -> _Module"),
          "Moves or converts parameters and buffers; call it before creating an optimizer. With a "
          "16-bit dtype floating buffers stay f32.")
      .def("zero_grad", &Module::zero_grad, "Releases all gradients.")
      .def("__repr__",
           [](nb::handle_t<Module> self) {
             std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
             const char* separator = "";
             for (auto& [name, tensor] : nb::cast<Module&>(self).named_parameters()) {
               text += separator + name + " " + to_string(tensor.shape());
               separator = ", ";
             }
             return text + ")";
           })
      .def(
          "register_parameter",
          [](Module& self, const std::string& name, const Tensor& values) {
            return self.add_parameter(name, values);
          },
          "name"_a, "values"_a, "Registers a parameter and returns it.")
      .def(
          "register_buffer",
          [](Module& self, const std::string& name, const Tensor& values) {
            return self.add_buffer(name, values);
          },
          "name"_a, "values"_a, "Registers a buffer, which is saved but not trained.")
      .def("register_module", &Module::add_module, "name"_a, "module"_a, "Registers a submodule.")
      .def("_find", &Module::find, "name"_a)
      .def("_own_tensors", own_tensors)
      .def("_remove", &Module::remove, "name"_a);
}

void bind_layers(nb::module_& module) {
  const auto dtype = "dtype"_a.sig("f32") = nb::none();
  const auto device = "device"_a.sig("\"cpu\"") = nb::none();
  const auto generator = "generator"_a.none() = nb::none();
  auto linear = layer<nn::Linear>(module, "Linear", "x (..., in) to (..., out).");
  linear.def(
      "__init__",
      [](nn::Linear* self, std::int64_t in, std::int64_t out, bool bias, MaybeDType type,
         MaybeDevice where,
         Generator* from) { new (self) nn::Linear(in, out, bias, placement(type, where, from)); },
      "in_features"_a, "out_features"_a, "bias"_a = true, dtype, device, generator);
  linear.def_prop_ro("in_features", [](const nn::Linear& self) { return self.weight.size(1); })
      .def_prop_ro("out_features", [](const nn::Linear& self) { return self.weight.size(0); });
  parameter(linear, "weight", "(out, in).");
  parameter(linear, "bias", "(out,), or None.");

  auto embedding = layer<nn::Embedding>(module, "Embedding", "Integers (...) to (..., width).");
  embedding.def(
      "__init__",
      [](nn::Embedding* self, std::int64_t entries, std::int64_t width, MaybeDType type,
         MaybeDevice where, Generator* from) {
        new (self) nn::Embedding(entries, width, placement(type, where, from));
      },
      "num_embeddings"_a, "embedding_dim"_a, dtype, device, generator);
  embedding
      .def_prop_ro("num_embeddings", [](const nn::Embedding& self) { return self.weight.size(0); })
      .def_prop_ro("embedding_dim", [](const nn::Embedding& self) { return self.weight.size(1); });
  parameter(embedding, "weight", "(entries, width).");

  auto layer_norm =
      layer<nn::LayerNorm>(module, "LayerNorm", "Layer normalisation over the last axis.");
  layer_norm.def(
      "__init__",
      [](nn::LayerNorm* self, std::int64_t width, double eps, MaybeDType type, MaybeDevice where) {
        new (self) nn::LayerNorm(width, eps, placement(type, where, nullptr));
      },
      "width"_a, "eps"_a = 1e-5, dtype, device);
  layer_norm.def(
      "__init__",
      [](nn::LayerNorm* self, const Shape& shape, double eps, bool affine, bool bias,
         MaybeDevice where, MaybeDType type) {
        if (shape.size() != 1) {
          fail(ErrorKind::invalid_argument, "LayerNorm",
               "normalized_shape " + to_string(shape) +
                   ": expected one size; functional.layer_norm normalises several axes");
        }
        new (self)
            nn::LayerNorm(shape[0], eps, placement(type, where, nullptr), affine, affine && bias);
      },
      "normalized_shape"_a, "eps"_a = 1e-5, "elementwise_affine"_a = true, "bias"_a = true, device,
      dtype);
  layer_norm.def_ro("eps", &nn::LayerNorm::epsilon)
      .def_prop_ro("normalized_shape", [](const nn::LayerNorm& self) { return Shape{self.width}; });
  parameter(layer_norm, "weight", "(width,), or None.");
  parameter(layer_norm, "bias", "(width,), or None.");

  auto rms_norm = layer<nn::RmsNorm>(module, "RMSNorm", "RMS normalisation over the last axis.");
  rms_norm.def(
      "__init__",
      [](nn::RmsNorm* self, std::int64_t width, double eps, MaybeDType type, MaybeDevice where) {
        new (self) nn::RmsNorm(width, eps, placement(type, where, nullptr));
      },
      "width"_a, "eps"_a = 1e-5, dtype, device);
  rms_norm.def_ro("eps", &nn::RmsNorm::epsilon);
  parameter(rms_norm, "weight", "(width,).");

  auto batch_norm = layer<nn::BatchNorm>(module, "BatchNorm2d",
                                         "Batch normalisation of (images, channels, ...).");
  batch_norm.def(
      "__init__",
      [](nn::BatchNorm* self, std::int64_t channels, double eps, double momentum, MaybeDType type,
         MaybeDevice where) {
        new (self) nn::BatchNorm(channels, momentum, eps, placement(type, where, nullptr));
      },
      "num_features"_a, "eps"_a = 1e-5, "momentum"_a = 0.1, dtype, device);
  batch_norm.def_ro("eps", &nn::BatchNorm::epsilon).def_ro("momentum", &nn::BatchNorm::momentum);
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    parameter(batch_norm, name, "(channels,).");
  }

  layer<nn::Dropout>(module, "Dropout", "Dropout with probability p, in training mode.")
      .def(nb::init<double>(), "p"_a = 0.5)
      .def_ro("p", &nn::Dropout::probability);
  layer<nn::Flatten>(module, "Flatten", "(n, ...) to (n, features).").def(nb::init<>());

  auto mlp = layer<nn::Mlp>(module, "MLP", "Two linear layers with gelu_tanh between, fused.");
  mlp.def(
      "__init__",
      [](nn::Mlp* self, std::int64_t width, std::int64_t hidden, bool bias, MaybeDType type,
         MaybeDevice where, Generator* from) {
        new (self) nn::Mlp(width, hidden, bias, placement(type, where, from));
      },
      "width"_a, "hidden"_a, "bias"_a = true, dtype, device, generator);

  auto attention = layer<nn::Attention>(module, "Attention",
                                        "Multi-head self-attention of (batch, length, width).");
  attention
      .def(
          "__init__",
          [](nn::Attention* self, std::int64_t width, std::int64_t heads, bool causal, bool bias,
             MaybeDType type, MaybeDevice where, Generator* from) {
            new (self) nn::Attention(width, heads, causal, bias, placement(type, where, from));
          },
          "width"_a, "n_heads"_a, "causal"_a = false, "bias"_a = true, dtype, device, generator)
      .def(
          "forward_context",
          [](nn::Attention& self, const Tensor& x, const Tensor& context) {
            return without_gil([&] { return self.forward_context(x, context); });
          },
          "x"_a, "context"_a, "Entry b attends to its first context[b] rows only.")
      .def_ro("n_heads", &nn::Attention::n_heads)
      .def_ro("causal", &nn::Attention::causal);
}

void bind_image_layers(nb::module_& module) {
  const auto one = Pair{{1, 1}};
  const auto zero = Pair{{0, 0}};
  auto conv = layer<nn::Conv2d>(module, "Conv2d", "Convolution of (images, channels, h, w).");
  conv.def(
      "__init__",
      [](nn::Conv2d* self, std::int64_t in, std::int64_t out, Pair window, Pair stride,
         Pair padding, Pair dilation, std::int64_t groups, bool bias, MaybeDType type,
         MaybeDevice where, Generator* from) {
        const autograd::Convolution how{stride.value, padding.value, dilation.value, groups, false};
        new (self) nn::Conv2d(in, out, window.value, how, bias, placement(type, where, from));
      },
      "in_channels"_a, "out_channels"_a, "kernel_size"_a, "stride"_a.sig("1") = one,
      "padding"_a.sig("0") = zero, "dilation"_a.sig("1") = one, "groups"_a = 1, "bias"_a = true,
      "dtype"_a.sig("f32") = nb::none(), "device"_a.sig("\"cpu\"") = nb::none(),
      "generator"_a.none() = nb::none());
  conv.def_prop_ro("in_channels",
                   [](const nn::Conv2d& self) { return self.weight.size(1) * self.how.groups; })
      .def_prop_ro("out_channels", [](const nn::Conv2d& self) { return self.weight.size(0); })
      .def_prop_ro("groups", [](const nn::Conv2d& self) { return self.how.groups; });
  pair_property(conv, "kernel_size", [](const nn::Conv2d& self) {
    return std::array{self.weight.size(2), self.weight.size(3)};
  });
  pair_property(conv, "stride", [](const nn::Conv2d& self) { return self.how.stride; });
  pair_property(conv, "padding", [](const nn::Conv2d& self) { return self.how.padding; });
  pair_property(conv, "dilation", [](const nn::Conv2d& self) { return self.how.dilation; });
  parameter(conv, "weight", "(out_channels, in_channels / groups, h, w).");
  parameter(conv, "bias", "(out_channels,), or None.");
  auto pool = layer<nn::Pool2d>(module, "_Pool2d", "Pooling of (images, channels, h, w).");
  pool.def(
      "__init__",
      [](nn::Pool2d* self, bool max, Pair window, Maybe<Pair> stride, Pair padding) {
        new (self) nn::Pool2d({max ? autograd::PoolOp::max : autograd::PoolOp::average,
                               window.value, stride.value.value_or(window).value, padding.value});
      },
      "max"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a.sig("0") = zero);
  pool.def_prop_ro("_takes_max",
                   [](const nn::Pool2d& self) { return self.how.op == autograd::PoolOp::max; });
  pair_property(pool, "kernel_size", [](const nn::Pool2d& self) { return self.how.window; });
  pair_property(pool, "stride", [](const nn::Pool2d& self) { return self.how.stride; });
  pair_property(pool, "padding", [](const nn::Pool2d& self) { return self.how.padding; });
}

void bind_init(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_init", "Parameter initialisation.");
  const auto pick = [](Generator* generator) -> Generator& {
    return generator != nullptr ? *generator : nn::default_generator();
  };
  const auto generator = "generator"_a.none() = nb::none();
  const auto plain = [](const Tensor& x) { return autograd::detach(x); };
  module.def(
      "constant_", [plain](const Tensor& x, double value) { nn::fill_(plain(x), value); }, "x"_a,
      "value"_a);
  module.def(
      "uniform_",
      [=](const Tensor& x, double low, double high, Generator* from) {
        nn::uniform_(plain(x), low, high, pick(from));
      },
      "x"_a, "low"_a = 0.0, "high"_a = 1.0, generator);
  module.def(
      "normal_",
      [=](const Tensor& x, double mean, double std, Generator* from) {
        nn::normal_(plain(x), mean, std, pick(from));
      },
      "x"_a, "mean"_a = 0.0, "std"_a = 1.0, generator);
  module.def(
      "trunc_normal_",
      [=](const Tensor& x, double std, double cut, Generator* from) {
        nn::truncated_normal_(plain(x), std, cut, pick(from));
      },
      "x"_a, "std"_a = 1.0, "cut"_a = 2.0, generator);
  struct Name {
    const char* name;
    void (*function)(const Tensor&, double, Generator&);
  };
  constexpr Name kScaled[] = {{"xavier_uniform_", nn::xavier_uniform_},
                              {"xavier_normal_", nn::xavier_normal_},
                              {"kaiming_uniform_", nn::kaiming_uniform_},
                              {"kaiming_normal_", nn::kaiming_normal_}};
  for (const auto& [name, function] : kScaled) {
    module.def(
        name,
        [=, function = function](const Tensor& x, double gain, Generator* from) {
          function(plain(x), gain, pick(from));
        },
        "x"_a, "gain"_a = 1.0, generator);
  }
}

}  // namespace

void bind_nn(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_nn", "Layers.");
  bind_module(module);
  nb::class_<nn::Sequential, Module>(module, "_Sequential", "Applies modules in sequence.")
      .def(nb::init<const std::vector<std::shared_ptr<Module>>&>(), "modules"_a)
      .def("forward", &call<nn::Sequential>, "x"_a)
      .def("__call__", call_forward);
  bind_layers(module);
  bind_image_layers(module);
  bind_init(module);
}

}  // namespace causeway::python
