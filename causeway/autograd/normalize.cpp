#include "causeway/autograd/normalize.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/dense.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

using kernels::Norm;
using kernels::SoftmaxOp;

// Statistics are f32, or f64 for f64.
DType statistics_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

void require_floating(const char* name, const Tensor& x) {
  if (is_floating(x.dtype())) return;
  fail(ErrorKind::invalid_argument, name,
       fmt::format("expected a floating tensor, got {}; convert it with .to(\"f32\")",
                   to_string(x.dtype())));
}

kernels::Operand maybe(const std::optional<Tensor>& x, StreamView stream) {
  return x.has_value() ? operand(*x, stream) : kernels::Operand();
}

std::optional<Tensor> maybe_dense(const std::optional<Tensor>& x) {
  if (!x.has_value()) return std::nullopt;
  return dense(detach(*x));
}

Tensor softmax_rows(SoftmaxOp op, const Tensor& x) {
  const Tensor rows = dense(detach(x));
  Tensor out = Tensor::empty(x.shape(), x.dtype(), x.device());
  const std::int64_t n_columns = x.size(-1);
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::softmax(stream, op, operand(rows, stream), operand(out, stream),
                     out.numel() / n_columns, n_columns);
  }
  return record(
      kernels::to_string(op).data(), out, {&x}, Reads{&out}, [op, out, n_columns](Backward& pass) {
        const Tensor incoming = dense(pass.gradient());
        Tensor result = Tensor::empty(out.shape(), out.dtype(), out.device());
        const StreamView on = current_stream(out.device());
        if (result.numel() > 0) {
          kernels::softmax_gradient(on, op, operand(out, on), operand(incoming, on),
                                    operand(result, on), out.numel() / n_columns, n_columns);
        }
        pass.accumulate(0, result);
      });
}

Tensor softmax_along(SoftmaxOp op, const Tensor& x, int axis) {
  const char* name = kernels::to_string(op).data();
  require_floating(name, x);
  const int along = normalize_axis(name, axis, x.n_dims());
  if (along == x.n_dims() - 1) return softmax_rows(op, x);
  return autograd::transpose(softmax_rows(op, autograd::transpose(x, along, -1)), along, -1);
}

// The tensors of one normalisation, in tape order.
struct NormCall {
  Norm how;
  Tensor x;
  std::optional<Tensor> residual;
  std::optional<Tensor> weight;
  std::optional<Tensor> bias;
};

void require_norm(const char* name, const NormCall& call) {
  require_floating(name, call.x);
  const Shape columns{call.x.n_dims() > 0 ? call.x.size(-1) : 0};
  const auto check = [&](const char* what, const std::optional<Tensor>& t, const Shape& shape) {
    if (!t.has_value()) return;
    require_same_device(name, call.x, *t);
    if (t->shape() != shape || t->dtype() != call.x.dtype()) {
      fail(ErrorKind::shape_mismatch, name,
           fmt::format("{} is {} of {}; expected {} of {} to match x {}", what,
                       to_string(t->shape()), to_string(t->dtype()), to_string(shape),
                       to_string(call.x.dtype()), to_string(call.x.shape())));
    }
  };
  if (call.x.n_dims() == 0) {
    fail(ErrorKind::shape_mismatch, name, "x has no dimensions to normalise over");
  }
  check("weight", call.weight, columns);
  check("bias", call.bias, columns);
  check("residual", call.residual, call.x.shape());
}

AddNorm run_norm(const char* name, NormCall call) {
  require_norm(name, call);
  Norm& how = call.how;
  how.n_columns = call.x.size(-1);
  how.n_rows = call.x.numel() / std::max<std::int64_t>(how.n_columns, 1);
  const Tensor in = dense(detach(call.x));
  const std::optional<Tensor> residual = maybe_dense(call.residual);
  const std::optional<Tensor> weight = maybe_dense(call.weight);
  const std::optional<Tensor> bias = maybe_dense(call.bias);
  const DType wide = statistics_dtype(in.dtype());
  const Tensor out = Tensor::empty(in.shape(), in.dtype(), in.device());
  const Tensor mean = Tensor::empty({how.n_rows}, wide, in.device());
  const Tensor rstd = Tensor::empty({how.n_rows}, wide, in.device());
  const Tensor sum = residual.has_value() ? Tensor::empty(in.shape(), in.dtype(), in.device()) : in;
  const StreamView stream = current_stream(in.device());
  if (out.numel() > 0) {
    kernels::norm(stream, how, operand(in, stream), maybe(residual, stream), maybe(weight, stream),
                  maybe(bias, stream),
                  residual.has_value() ? operand(sum, stream) : kernels::Operand(),
                  operand(out, stream), operand(mean, stream), operand(rstd, stream));
  }
  // Inputs: x, then residual, weight and bias if given.
  std::vector<const Tensor*> inputs{&call.x};
  const auto place = [&](const std::optional<Tensor>& t) {
    if (!t.has_value()) return -1;
    inputs.push_back(&*t);
    return static_cast<int>(inputs.size()) - 1;
  };
  const int at_residual = place(call.residual);
  const int at_weight = place(call.weight);
  const int at_bias = place(call.bias);
  const bool two = residual.has_value();
  std::vector<Tensor> results{out};
  if (two) results.push_back(sum);
  const auto rule = [=](Backward& pass) {
    const Tensor g = dense(pass.gradient(0));
    std::optional<Tensor> sum_gradient;
    if (two) sum_gradient = maybe_dense(pass.gradient_if_any(1));
    const Tensor x_gradient = Tensor::empty(sum.shape(), sum.dtype(), sum.device());
    std::optional<Tensor> weight_gradient;
    std::optional<Tensor> bias_gradient;
    const Shape columns{how.n_columns};
    const auto make = g.numel() > 0 ? Tensor::empty : zeros;
    if (at_weight >= 0) weight_gradient = make(columns, sum.dtype(), sum.device());
    if (at_bias >= 0) bias_gradient = make(columns, sum.dtype(), sum.device());
    const StreamView on = current_stream(sum.device());
    if (g.numel() > 0) {
      kernels::norm_gradient(on, how, operand(sum, on), maybe(weight, on), operand(mean, on),
                             operand(rstd, on), operand(g, on), maybe(sum_gradient, on),
                             operand(x_gradient, on), maybe(weight_gradient, on),
                             maybe(bias_gradient, on));
    }
    pass.accumulate(0, x_gradient);
    if (at_residual >= 0) pass.accumulate(at_residual, x_gradient);
    if (at_weight >= 0) pass.accumulate(at_weight, *weight_gradient);
    if (at_bias >= 0) pass.accumulate(at_bias, *bias_gradient);
  };
  std::vector<Tensor> recorded = record_all(
      name, std::move(results), inputs, Reads{&sum, weight.has_value() ? &*weight : nullptr}, rule);
  return {two ? recorded[1] : call.x, recorded[0]};
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  return softmax_along(SoftmaxOp::softmax, widened(x), axis);
}

Tensor log_softmax(const Tensor& x, int axis) {
  return softmax_along(SoftmaxOp::log_softmax, widened(x), axis);
}

Tensor layer_norm(const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double epsilon) {
  return run_norm("layer_norm", {{NormOp::layer, 0, 0, epsilon}, widened(x), {}, weight, bias})
      .normed;
}

Tensor rms_norm(const Tensor& x, const std::optional<Tensor>& weight, double epsilon) {
  return run_norm("rms_norm", {{NormOp::rms, 0, 0, epsilon}, widened(x), {}, weight, {}}).normed;
}

AddNorm add_norm(NormOp op, const Tensor& x, const Tensor& residual,
                 const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                 double epsilon) {
  return run_norm("add_norm", {{op, 0, 0, epsilon}, x, residual, weight, bias});
}

Tensor batch_norm(const Tensor& x, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const std::optional<BatchNormState>& state,
                  bool training, double momentum, double epsilon) {
  require_floating("batch_norm", x);
  if (x.n_dims() < 2) {
    fail(ErrorKind::shape_mismatch, "batch_norm",
         fmt::format("x {} has no channels; expected (images, channels, …)", to_string(x.shape())));
  }
  if (!training && !state.has_value()) {
    fail(ErrorKind::invalid_argument, "batch_norm",
         "running statistics are required if training is false");
  }
  kernels::BatchNorm how;
  const Tensor in = dense(detach(x));
  how.cube = cube_around(in, 1);
  how.training = training;
  how.momentum = momentum;
  how.epsilon = epsilon;
  const std::optional<Tensor> scale = maybe_dense(weight);
  const std::optional<Tensor> shift = maybe_dense(bias);
  const DType wide = statistics_dtype(in.dtype());
  const Tensor out = Tensor::empty(in.shape(), in.dtype(), in.device());
  const Tensor mean = Tensor::empty({how.cube.axis}, wide, in.device());
  const Tensor rstd = Tensor::empty({how.cube.axis}, wide, in.device());
  const auto running = [&](const Tensor BatchNormState::*which) -> std::optional<Tensor> {
    if (!state.has_value()) return std::nullopt;
    const Tensor& kept = (*state).*which;
    if (kept.shape() != Shape{how.cube.axis} || kept.dtype() != wide || !kept.is_contiguous()) {
      fail(ErrorKind::shape_mismatch, "batch_norm",
           fmt::format("running statistics are {} of {}; expected ({},) of {}",
                       to_string(kept.shape()), to_string(kept.dtype()), how.cube.axis,
                       to_string(wide)));
    }
    return kept;
  };
  const std::optional<Tensor> running_mean = running(&BatchNormState::running_mean);
  const std::optional<Tensor> running_variance = running(&BatchNormState::running_variance);
  const StreamView stream = current_stream(in.device());
  if (out.numel() > 0) {
    kernels::batch_norm(stream, how, operand(in, stream), maybe(scale, stream),
                        maybe(shift, stream), maybe(running_mean, stream),
                        maybe(running_variance, stream), operand(out, stream),
                        operand(mean, stream), operand(rstd, stream));
    if (training && state.has_value()) {
      ++state->running_mean.storage()->n_writes;
      ++state->running_variance.storage()->n_writes;
    }
  }
  std::vector<const Tensor*> inputs{&x};
  if (weight.has_value()) inputs.push_back(&*weight);
  if (bias.has_value()) inputs.push_back(&*bias);
  const bool has_bias = bias.has_value();
  const Reads reads{&in, scale.has_value() ? &*scale : nullptr};
  return record("batch_norm", out, inputs, reads, [=](Backward& pass) {
    const Tensor g = dense(pass.gradient());
    const Tensor in_gradient = Tensor::empty(in.shape(), in.dtype(), in.device());
    std::optional<Tensor> weight_gradient;
    std::optional<Tensor> bias_gradient;
    const Shape channels{how.cube.axis};
    if (scale.has_value()) weight_gradient = zeros(channels, in.dtype(), in.device());
    if (has_bias) bias_gradient = zeros(channels, in.dtype(), in.device());
    const StreamView on = current_stream(in.device());
    if (g.numel() > 0) {
      kernels::batch_norm_gradient(on, how, operand(in, on), maybe(scale, on), operand(mean, on),
                                   operand(rstd, on), operand(g, on), operand(in_gradient, on),
                                   maybe(weight_gradient, on), maybe(bias_gradient, on));
    }
    pass.accumulate(0, in_gradient);
    if (scale.has_value()) pass.accumulate(1, *weight_gradient);
    if (has_bias) pass.accumulate(scale.has_value() ? 2 : 1, *bias_gradient);
  });
}

}  // namespace causeway::autograd
