#include "causeway/autograd/convolution.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/dense.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

// Number of window positions along an axis.
std::int64_t places(std::int64_t size, std::int64_t window, std::int64_t stride,
                    std::int64_t padding, std::int64_t dilation) {
  const std::int64_t room = size + 2 * padding - dilation * (window - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

void require_positive(const char* name, const char* what, const std::array<std::int64_t, 2>& pair,
                      std::int64_t least) {
  if (pair[0] >= least && pair[1] >= least) return;
  fail(ErrorKind::invalid_argument, name,
       fmt::format("the {} ({}, {}) must be at least {}", what, pair[0], pair[1], least));
}

Shape convolution_shape(const Tensor& x, const Tensor& weight, const Tensor* bias,
                        const Convolution& how) {
  require_positive("conv2d", "stride", how.stride, 1);
  require_positive("conv2d", "padding", how.padding, 0);
  require_positive("conv2d", "dilation", how.dilation, 1);
  const bool fits = x.n_dims() == 4 && weight.n_dims() == 4 && how.groups >= 1 &&
                    x.size(1) == weight.size(1) * how.groups && weight.size(0) % how.groups == 0 &&
                    (bias == nullptr || bias->shape() == Shape{weight.size(0)});
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "conv2d",
         fmt::format("x {}, weight {}, {} groups: expected (images, channels, height, width) and "
                     "(out_channels, channels / groups, height, width), with a bias of "
                     "(out_channels,)",
                     to_string(x.shape()), to_string(weight.shape()), how.groups));
  }
  require_positive("conv2d", "window", {weight.size(2), weight.size(3)}, 1);
  if (!is_floating(x.dtype()) || x.dtype() != weight.dtype()) {
    fail(ErrorKind::invalid_argument, "conv2d",
         fmt::format("x is {} but weight is {}; expected one floating type", to_string(x.dtype()),
                     to_string(weight.dtype())));
  }
  require_same_device("conv2d", x, weight);
  const Shape shape{
      x.size(0), weight.size(0),
      places(x.size(2), weight.size(2), how.stride[0], how.padding[0], how.dilation[0]),
      places(x.size(3), weight.size(3), how.stride[1], how.padding[1], how.dilation[1])};
  if (shape[2] == 0 || shape[3] == 0) {
    fail(ErrorKind::shape_mismatch, "conv2d",
         fmt::format("weight {} does not fit into x {} with padding ({}, {})",
                     to_string(weight.shape()), to_string(x.shape()), how.padding[0],
                     how.padding[1]));
  }
  return shape;
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              Convolution how) {
  if (narrows({&x, &weight, bias.has_value() ? &*bias : nullptr})) {
    return conv2d(narrowed(x), narrowed(weight), narrowed(bias), how);
  }
  how.allow_tf32 = allow_tf32();
  const Shape shape = convolution_shape(x, weight, bias.has_value() ? &*bias : nullptr, how);
  const Tensor in = dense(detach(x));
  const Tensor filter = dense(detach(weight));
  const Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    if (filter.size(1) == 0) {
      out.copy_from(zeros({}, x.dtype(), x.device()));
    } else {
      kernels::convolution(stream, how, operand(in, stream), operand(filter, stream),
                           operand(out, stream));
    }
  }
  // The input is kept only for the weight's gradient, the weight only for the input's.
  const bool reads_in = requires_grad(weight);
  const bool reads_filter = requires_grad(x);
  const Tensor recorded = record(
      "conv2d", out, {&x, &weight},
      Reads{reads_in ? &in : nullptr, reads_filter ? &filter : nullptr},
      [how, in_shape = in.shape(), filter_shape = filter.shape(), in = reads_in ? in : Tensor(),
       filter = reads_filter ? filter : Tensor()](Backward& pass) {
        const Tensor g = dense(pass.gradient());
        const StreamView on = current_stream(g.device());
        const bool nothing = g.numel() == 0 || numel(filter_shape) == 0;
        if (pass.needs(0)) {
          const Tensor result = Tensor::empty(in_shape, g.dtype(), g.device());
          if (nothing) {
            result.copy_from(zeros({}, g.dtype(), g.device()));
          } else {
            kernels::convolution_input_gradient(on, how, operand(g, on), operand(filter, on),
                                                operand(result, on));
          }
          pass.accumulate(0, result);
        }
        if (pass.needs(1)) {
          const Tensor result = Tensor::empty(filter_shape, g.dtype(), g.device());
          if (nothing) {
            result.copy_from(zeros({}, g.dtype(), g.device()));
          } else {
            kernels::convolution_weight_gradient(on, how, operand(in, on), operand(g, on),
                                                 operand(result, on));
          }
          pass.accumulate(1, result);
        }
      });
  if (!bias.has_value()) return recorded;
  return autograd::add(recorded, autograd::reshape(*bias, {1, shape[1], 1, 1}));
}

Tensor pool2d(const Tensor& x, const Pooling& how) {
  const char* name = kernels::to_string(how.op).data();
  require_positive(name, "window", how.window, 1);
  require_positive(name, "stride", how.stride, 1);
  require_positive(name, "padding", how.padding, 0);
  if (x.n_dims() != 4 || !is_floating(x.dtype())) {
    fail(ErrorKind::shape_mismatch, name,
         fmt::format("x is {} of {}; expected (images, channels, height, width) of a floating type",
                     to_string(x.shape()), to_string(x.dtype())));
  }
  if (2 * how.padding[0] > how.window[0] || 2 * how.padding[1] > how.window[1]) {
    fail(ErrorKind::invalid_argument, name,
         fmt::format("padding ({}, {}) is more than half the window ({}, {})", how.padding[0],
                     how.padding[1], how.window[0], how.window[1]));
  }
  const Shape shape{x.size(0), x.size(1),
                    places(x.size(2), how.window[0], how.stride[0], how.padding[0], 1),
                    places(x.size(3), how.window[1], how.stride[1], how.padding[1], 1)};
  if (shape[2] == 0 || shape[3] == 0) {
    fail(ErrorKind::shape_mismatch, name,
         fmt::format("window ({}, {}) does not fit into x {}", how.window[0], how.window[1],
                     to_string(x.shape())));
  }
  const Tensor in = dense(detach(x));
  const Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  const bool keeps = how.op == PoolOp::max;
  const Tensor indices = Tensor::empty(keeps ? shape : Shape{0}, DType::i32, x.device());
  const auto places_operand = [keeps](const Tensor& t, StreamView on) {
    return keeps ? operand(t, on) : kernels::Operand();
  };
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::pool(stream, how, operand(in, stream), operand(out, stream),
                  places_operand(indices, stream));
  }
  return record(name, out, {&x}, Reads{},
                [how, indices, places_operand, from = in.shape()](Backward& pass) {
                  const Tensor g = dense(pass.gradient());
                  const Tensor result = Tensor::empty(from, g.dtype(), g.device());
                  const StreamView on = current_stream(g.device());
                  if (result.numel() > 0) {
                    kernels::pool_gradient(on, how, operand(g, on), places_operand(indices, on),
                                           operand(result, on));
                  }
                  pass.accumulate(0, result);
                });
}

}  // namespace causeway::autograd
