// Neural-network functions: causeway.nn.functional. Names and arguments are those of PyTorch.
#include "causeway/autograd/attention.h"
#include "causeway/autograd/convolution.h"
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/indexing.h"
#include "causeway/autograd/loss.h"
#include "causeway/autograd/matmul.h"
#include "causeway/autograd/normalize.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "python/bind.h"
#include "python/casters.h"
#include "python/pairs.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <limits>

namespace causeway::python {

namespace {

using autograd::Reduction;

Reduction read_reduction(const std::string& name) {
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  fail(ErrorKind::invalid_argument, "loss",
       "reduction \"" + name + "\": expected \"mean\", \"sum\" or \"none\"");
}

autograd::AttentionPath read_path(const std::string& name) {
  using autograd::AttentionPath;
  for (AttentionPath path : {AttentionPath::automatic, AttentionPath::flash, AttentionPath::cudnn,
                             AttentionPath::small, AttentionPath::hopper}) {
    if (kernels::to_string(path) == name) return path;
  }
  fail(ErrorKind::invalid_argument, "attention",
       "path \"" + name +
           "\": expected \"automatic\", \"flash\", \"cudnn\", \"small\" or \"hopper\"");
}

template <class... Extra>
void define_activation(nb::module_& module, const char* name, autograd::ActivationOp op,
                       const char* doc, const Extra&... extra) {
  if constexpr (sizeof...(Extra) == 0) {
    module.def(
        name,
        [op](const Tensor& x) {
          return without_gil([&] { return autograd::activation({op, 0, 0}, x); });
        },
        "x"_a, doc);
  } else if constexpr (sizeof...(Extra) == 1) {
    module.def(
        name,
        [op](const Tensor& x, double a) {
          return without_gil([&] { return autograd::activation({op, a, 1}, x); });
        },
        "x"_a, extra..., doc);
  } else {
    module.def(
        name,
        [op](const Tensor& x, double a, double b) {
          return without_gil([&] { return autograd::activation({op, a, b}, x); });
        },
        "x"_a, extra..., doc);
  }
}

void bind_activations(nb::module_& module) {
  using Op = autograd::ActivationOp;
  define_activation(module, "leaky_relu", Op::leaky_relu, "x for x > 0, else negative_slope * x.",
                    "negative_slope"_a = 0.01);
  define_activation(module, "elu", Op::elu, "x for x > 0, else alpha * (exp(x) - 1).",
                    "alpha"_a = 1.0);
  module.def(
      "selu",
      [](const Tensor& x) {
        return without_gil([&] {
          return autograd::activation({Op::elu, 1.6732632423543772, 1.0507009873554805}, x);
        });
      },
      "x"_a, "Scaled ELU, which preserves mean 0 and variance 1.");
  define_activation(module, "softplus", Op::softplus,
                    "log(1 + exp(beta * x)) / beta; x if beta * x exceeds the threshold.",
                    "beta"_a = 1.0, "threshold"_a = 20.0);
  define_activation(module, "hardsigmoid", Op::hard_sigmoid, "x / 6 + 1/2, clipped to [0, 1].");
  define_activation(module, "hardswish", Op::hard_swish, "x * hardsigmoid(x).");
  define_activation(module, "hardtanh", Op::hard_tanh, "x clipped to [min_val, max_val].",
                    "min_val"_a = -1.0, "max_val"_a = 1.0);
}

// Normalises the last axes, which have the given shape, as one.
template <class Norm>
Tensor over_last_axes(const char* name, const Tensor& x, const Shape& shape,
                      std::optional<Tensor>& weight, std::optional<Tensor>& bias,
                      const Norm& norm) {
  Shape rows;
  for (int axis = 0; axis < x.n_dims() - shape.size(); ++axis) rows.push_back(x.shape()[axis]);
  Shape expected = rows;
  for (std::int64_t size : shape) expected.push_back(size);
  if (shape.empty() || expected != x.shape()) {
    fail(ErrorKind::shape_mismatch, name,
         "normalized_shape " + to_string(shape) + ": expected the last sizes of the input, " +
             to_string(x.shape()));
  }
  return without_gil([&] {
    if (shape.size() == 1) return norm(x);
    if (weight.has_value()) weight = autograd::reshape(*weight, {-1});
    if (bias.has_value()) bias = autograd::reshape(*bias, {-1});
    rows.push_back(numel(shape));
    return autograd::reshape(norm(autograd::reshape(x, rows)), x.shape());
  });
}

void bind_norms(nb::module_& module) {
  const auto convert = [](const Tensor& x, const Maybe<DTypeArg>& dtype) {
    return dtype.value.has_value() ? autograd::to(x, dtype.value->value) : x;
  };
  const auto softmax = [convert](const Tensor& x, int axis, const Maybe<DTypeArg>& dtype) {
    return without_gil([&] { return autograd::softmax(convert(x, dtype), axis); });
  };
  const auto log_softmax = [convert](const Tensor& x, int axis, const Maybe<DTypeArg>& dtype) {
    return without_gil([&] { return autograd::log_softmax(convert(x, dtype), axis); });
  };
  for (const char* axis : {"dim", "axis"}) {
    module.def("softmax", softmax, "x"_a, nb::arg(axis) = -1, "dtype"_a = nb::none(),
               "exp(x) divided by its sum along an axis.");
    module.def("log_softmax", log_softmax, "x"_a, nb::arg(axis) = -1, "dtype"_a = nb::none(),
               "The logarithm of softmax.");
  }
  const auto weight = "weight"_a = nb::none();
  const auto bias = "bias"_a = nb::none();
  const auto eps = "eps"_a = 1e-5;
  module.def(
      "layer_norm",
      [](const Tensor& x, std::optional<Tensor> w, std::optional<Tensor> b, double e) {
        return without_gil([&] { return autograd::layer_norm(x, w, b, e); });
      },
      "x"_a, weight, bias, eps, "Layer normalisation over the last axis.");
  module.def(
      "layer_norm",
      [](const Tensor& x, const Shape& shape, std::optional<Tensor> w, std::optional<Tensor> b,
         double e) {
        return over_last_axes("layer_norm", x, shape, w, b, [&](const Tensor& rows) {
          return autograd::layer_norm(rows, w, b, e);
        });
      },
      "x"_a, "normalized_shape"_a, weight, bias, eps, "Layer normalisation over the last axes.");
  module.def(
      "rms_norm",
      [](const Tensor& x, std::optional<Tensor> w, double e) {
        return without_gil([&] { return autograd::rms_norm(x, w, e); });
      },
      "x"_a, weight, eps, "RMS normalisation over the last axis.");
  module.def(
      "rms_norm",
      [](const Tensor& x, const Shape& shape, std::optional<Tensor> w, std::optional<double> e) {
        std::optional<Tensor> no_bias;
        const double epsilon = e.value_or(
            x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                    : static_cast<double>(std::numeric_limits<float>::epsilon()));
        return over_last_axes("rms_norm", x, shape, w, no_bias, [&](const Tensor& rows) {
          return autograd::rms_norm(rows, w, epsilon);
        });
      },
      "x"_a, "normalized_shape"_a, weight, "eps"_a = nb::none(),
      "RMS normalisation over the last axes; eps is by default that of the dtype.");
  module.def(
      "add_layer_norm",
      [](const Tensor& x, const Tensor& residual, std::optional<Tensor> w, std::optional<Tensor> b,
         double e) {
        auto both = without_gil(
            [&] { return autograd::add_norm(autograd::NormOp::layer, x, residual, w, b, e); });
        return std::pair(std::move(both.sum), std::move(both.normed));
      },
      "x"_a, "residual"_a, weight, bias, eps, "(x + residual, its layer norm), in one pass.");
  module.def(
      "add_rms_norm",
      [](const Tensor& x, const Tensor& residual, std::optional<Tensor> w, double e) {
        auto both = without_gil([&] {
          return autograd::add_norm(autograd::NormOp::rms, x, residual, w, std::nullopt, e);
        });
        return std::pair(std::move(both.sum), std::move(both.normed));
      },
      "x"_a, "residual"_a, weight, eps, "(x + residual, its RMS norm), in one pass.");
  module.def(
      "batch_norm",
      [](const Tensor& x, std::optional<Tensor> mean, std::optional<Tensor> var,
         std::optional<Tensor> w, std::optional<Tensor> b, bool training, double momentum,
         double e) {
        std::optional<autograd::BatchNormState> state;
        if (mean.has_value() && var.has_value()) state = {*mean, *var};
        return without_gil(
            [&] { return autograd::batch_norm(x, w, b, state, training, momentum, e); });
      },
      "x"_a, "running_mean"_a = nb::none(), "running_var"_a = nb::none(), weight, bias,
      "training"_a = false, "momentum"_a = 0.1, eps,
      "Batch normalisation of (images, channels, ...), with batch statistics in training, else "
      "with "
      "running statistics.");
  module.def(
      "dropout",
      [](const Tensor& x, double p, bool training) {
        return without_gil([&] { return autograd::dropout(x, p, training); });
      },
      "x"_a, "p"_a = 0.5, "training"_a = true,
      "Sets elements to 0 with probability p and divides the others by 1 - p; returns x if not "
      "training.");
}

void bind_losses(nb::module_& module) {
  module.def(
      "_cross_entropy",
      [](const Tensor& logits, const Tensor& targets, std::int64_t ignore_index,
         const std::string& reduction, double smoothing, bool overwrite) {
        const autograd::CrossEntropyOptions options{ignore_index, smoothing,
                                                    read_reduction(reduction), overwrite};
        return without_gil([&] { return autograd::cross_entropy(logits, targets, options); });
      },
      "logits"_a, "targets"_a, "ignore_index"_a = -100, "reduction"_a = "mean",
      "label_smoothing"_a = 0.0, "overwrite_logits"_a = false,
      "Cross entropy of logits (..., classes) and integer classes (...), or probabilities of the "
      "logits' shape. The mean is over targets that are not ignored, and 0 if there are none.");
  struct Name {
    const char* name;
    autograd::LossOp op;
    const char* parameter;
    double value;
    const char* doc;
  };
  constexpr Name kLosses[] = {
      {"huber_loss", autograd::LossOp::huber, "delta", 1.0,
       "Huber loss: squared within delta, linear outside."},
      {"pinball_loss", autograd::LossOp::pinball, "quantile", 0.5, "Quantile (pinball) loss."},
  };
  for (const auto& [name, op, parameter, value, doc] : kLosses) {
    module.def(
        name,
        [op = op](const Tensor& x, const Tensor& target, double p, const std::string& reduction) {
          const Reduction how = read_reduction(reduction);
          return without_gil([&] { return autograd::elementwise_loss(op, p, x, target, how); });
        },
        "x"_a, "target"_a, nb::arg(parameter) = value, "reduction"_a = "mean", doc);
  }
  constexpr Name kPlain[] = {
      {"mse_loss", autograd::LossOp::squared, "", 0, "Squared error."},
      {"l1_loss", autograd::LossOp::absolute, "", 0, "Absolute error."},
  };
  for (const auto& [name, op, parameter, value, doc] : kPlain) {
    module.def(
        name,
        [op = op](const Tensor& x, const Tensor& target, const std::string& reduction) {
          const Reduction how = read_reduction(reduction);
          return without_gil([&] { return autograd::elementwise_loss(op, 0, x, target, how); });
        },
        "x"_a, "target"_a, "reduction"_a = "mean", doc);
  }
}

void bind_products(nb::module_& module) {
  module.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, std::optional<Tensor> bias) {
        return without_gil([&] { return autograd::linear(x, weight, bias); });
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(),
      "x (..., in) times the transpose of weight (out, in), plus bias (out,).");
  module.def(
      "mlp",
      [](const Tensor& x, const Tensor& w_in, const std::optional<Tensor>& b_in,
         const Tensor& w_out, const std::optional<Tensor>& b_out) {
        return without_gil([&] { return autograd::mlp(x, w_in, b_in, w_out, b_out); });
      },
      "x"_a, "weight_in"_a, "bias_in"_a.none(), "weight_out"_a, "bias_out"_a.none(),
      "Two linear layers with gelu_tanh between them, fused; with both biases or None for both.");
  module.def(
      "embedding",
      [](const Tensor& index, const Tensor& weight) {
        return without_gil([&] { return autograd::embedding(weight, index); });
      },
      "index"_a, "weight"_a, "Rows of weight (entries, width) for integers (...): (..., width).");
  module.def(
      "_attention",
      [](const Tensor& q, const Tensor& k, const Tensor& v, bool is_causal,
         std::optional<double> scale, std::optional<Tensor> context, const std::string& path,
         bool deterministic) {
        autograd::AttentionOptions options{is_causal, scale, context, read_path(path),
                                           deterministic};
        return without_gil([&] { return autograd::attention(q, k, v, options); });
      },
      "q"_a, "k"_a, "v"_a, "is_causal"_a = false, "scale"_a = nb::none(), "context"_a = nb::none(),
      "path"_a = "automatic", "deterministic"_a = true,
      "softmax(q k^T * scale) v for (batch, heads, length, size). With is_causal the last query "
      "attends to all keys, each earlier one to one less. With a context (batch,), entry b attends "
      "to its first "
      "context[b] "
      "keys only.");
  module.def(
      "attention_packed",
      [](const Tensor& qkv, std::int64_t heads, bool is_causal, std::optional<double> scale,
         std::optional<Tensor> context) {
        autograd::AttentionOptions options;
        options.causal = is_causal;
        options.scale = scale;
        options.context = context;
        return without_gil([&] { return autograd::attention_packed(qkv, heads, options); });
      },
      "qkv"_a, "n_heads"_a, "is_causal"_a = false, "scale"_a = nb::none(), "context"_a = nb::none(),
      "Self-attention of (batch, length, 3 * heads * size) to (batch, length, heads * size).");
}

void bind_images(nb::module_& module) {
  const auto one = Pair{{1, 1}};
  const auto zero = Pair{{0, 0}};
  module.def(
      "conv2d",
      [](const Tensor& x, const Tensor& weight, std::optional<Tensor> bias, Pair stride,
         Pair padding, Pair dilation, std::int64_t groups) {
        const autograd::Convolution how{stride.value, padding.value, dilation.value, groups, false};
        return without_gil([&] { return autograd::conv2d(x, weight, bias, how); });
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a.sig("1") = one,
      "padding"_a.sig("0") = zero, "dilation"_a.sig("1") = one, "groups"_a = 1,
      "Correlates (images, channels, height, width) with weight (out, channels / groups, height, "
      "width).");
  struct Name {
    const char* name;
    autograd::PoolOp op;
    const char* doc;
  };
  constexpr Name kPools[] = {
      {"max_pool2d", autograd::PoolOp::max, "Max pooling."},
      {"avg_pool2d", autograd::PoolOp::average, "Average pooling; padding counts as 0."},
  };
  for (const auto& [name, op, doc] : kPools) {
    module.def(
        name,
        [op = op](const Tensor& x, Pair window, Maybe<Pair> stride, Pair padding) {
          const autograd::Pooling how{op, window.value, stride.value.value_or(window).value,
                                      padding.value};
          return without_gil([&] { return autograd::pool2d(x, how); });
        },
        "x"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a.sig("0") = zero, doc);
  }
}

}  // namespace

void bind_functional(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_functional", "Neural-network functions.");
  bind_activations(module);
  bind_norms(module);
  bind_losses(module);
  bind_products(module);
  bind_images(module);
}

}  // namespace causeway::python
