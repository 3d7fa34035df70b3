#include "causeway/autograd/loss.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/dense.h"
#include "causeway/autograd/reduce.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/kernels/cross_entropy/cross_entropy.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

Tensor reduced(const Tensor& losses, Reduction reduction) {
  switch (reduction) {
    case Reduction::mean: return autograd::mean(losses);
    case Reduction::sum: return autograd::sum(losses);
    default: return losses;
  }
}

bool are_classes(const Tensor& logits, const Tensor& targets) {
  const bool integers = is_integer(targets.dtype());
  Shape rows = logits.shape();
  if (rows.size() > 0) rows.erase(rows.size() - 1);
  const bool fits = logits.n_dims() > 0 && is_floating(logits.dtype()) &&
                    targets.shape() == (integers ? rows : logits.shape()) &&
                    (integers || is_floating(targets.dtype()));
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "cross_entropy",
         fmt::format("logits {} of {} and targets {} of {}: expected logits (…, classes) and "
                     "integer classes (…), or probabilities of the logits' shape",
                     to_string(logits.shape()), to_string(logits.dtype()),
                     to_string(targets.shape()), to_string(targets.dtype())));
  }
  if (logits.size(-1) == 0) {
    fail(ErrorKind::shape_mismatch, "cross_entropy",
         fmt::format("logits {}: there are no classes", to_string(logits.shape())));
  }
  require_same_device("cross_entropy", logits, targets);
  return integers;
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options) {
  if (widens(logits)) return cross_entropy(widened(logits), widened(targets), options);
  const bool classes = are_classes(logits, targets);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    fail(ErrorKind::invalid_argument, "cross_entropy",
         fmt::format("label_smoothing must be in [0, 1], got {}", options.label_smoothing));
  }
  if (recording() && requires_grad(targets)) {
    fail(ErrorKind::invalid_argument, "cross_entropy",
         "targets have no gradient here but are tracked; detach() them");
  }
  const Tensor rows = dense(detach(logits));
  const Tensor goal = dense(targets.to(classes ? DType::i64 : logits.dtype()));
  kernels::CrossEntropy how;
  how.n_columns = logits.size(-1);
  how.n_rows = logits.numel() / how.n_columns;
  how.ignore_index = options.ignore_index;
  how.smoothing = options.label_smoothing;
  const DType wide = logits.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const StreamView stream = current_stream(logits.device());
  Shape row_shape = logits.shape();
  row_shape.erase(row_shape.size() - 1);
  const Tensor losses = Tensor::empty(row_shape, wide, logits.device());

  const bool mean = options.reduction == Reduction::mean;
  std::optional<Tensor> weight;
  if (mean && classes) {
    weight = Tensor::empty({}, wide, logits.device());
    kernels::target_weight(stream, how, operand(goal, stream), operand(*weight, stream));
  } else if (mean) {
    const auto n_rows = static_cast<double>(std::max<std::int64_t>(how.n_rows, 1));
    weight = full({}, 1 / n_rows, wide, logits.device());
  }
  const Tensor* input = &logits;
  const bool wanted = internal::wanted(std::span(&input, 1));
  std::optional<Tensor> gradient;
  if (wanted) {
    const bool in_place = options.overwrite_logits && rows.storage() == logits.storage();
    gradient = in_place ? rows : Tensor::empty(rows.shape(), rows.dtype(), rows.device());
  }
  // One row's share of a mean may underflow in f16. The loss scale prevents that only if both
  // factors are combined before the gradient is rounded.
  const bool later = weight.has_value() && logits.dtype() == DType::f16;
  const bool overwritten = gradient.has_value() && gradient->storage() == logits.storage();
  if (overwritten) ++logits.storage()->n_writes;
  if (how.n_rows > 0) {
    kernels::cross_entropy(
        stream, how, operand(rows, stream), operand(goal, stream),
        weight.has_value() && !later ? operand(*weight, stream) : kernels::Operand(),
        operand(losses, stream), wanted ? operand(*gradient, stream) : kernels::Operand());
  }
  Tensor out = losses;
  if (options.reduction != Reduction::none) out = causeway::sum(losses);
  if (weight.has_value()) out = out * *weight;
  if (!later) weight.reset();
  return record("cross_entropy", out, {&logits}, Reads{overwritten ? &*gradient : nullptr},
                [gradient, options, weight](Backward& pass) {
                  if (pass.is_seed() && !weight.has_value()) return pass.accumulate(0, *gradient);
                  const Tensor g = weight.has_value() ? pass.gradient() * *weight : pass.gradient();
                  // In the wider type: a rounded factor would bias the whole gradient.
                  pass.accumulate(
                      0, *gradient * (options.reduction == Reduction::none ? g.unsqueeze(-1) : g));
                });
}

Tensor elementwise_loss(LossOp op, double parameter, const Tensor& prediction, const Tensor& target,
                        Reduction reduction) {
  if (widens(prediction) || widens(target)) {
    return elementwise_loss(op, parameter, widened(prediction), widened(target), reduction);
  }
  const char* name = kernels::to_string(op).data();
  const bool is_quantile = op == LossOp::pinball;
  if ((op == LossOp::huber && !(parameter > 0)) ||
      (is_quantile && !(parameter >= 0 && parameter <= 1))) {
    fail(ErrorKind::invalid_argument, name,
         is_quantile ? fmt::format("quantile must be in [0, 1], got {}", parameter)
                     : fmt::format("delta must be positive, got {}", parameter));
  }
  require_same_device(name, prediction, target);
  const Shape shape = broadcast(name, prediction.shape(), target.shape());
  const DType dtype = to_floating(promote(prediction.dtype(), target.dtype()));
  const Tensor a = autograd::expand(autograd::to(prediction, dtype), shape);
  const Tensor b = autograd::expand(autograd::to(target, dtype), shape);
  const kernels::Loss how{op, parameter};
  const Tensor dense_a = dense(detach(a));
  const Tensor dense_b = dense(detach(b));
  const Tensor losses = Tensor::empty(shape, dtype, prediction.device());
  const StreamView stream = current_stream(prediction.device());
  if (losses.numel() > 0) {
    kernels::loss(stream, how, operand(dense_a, stream), operand(dense_b, stream),
                  operand(losses, stream));
  }
  const Tensor recorded = record(
      name, losses, {&a, &b}, Reads{&dense_a, &dense_b}, [how, dense_a, dense_b](Backward& pass) {
        // The gradient of a mean or sum is one value; it is not expanded in memory.
        const Tensor g = pass.gradient();
        const bool repeats = bytes_of(operand(g, current_stream(g.device()))) == size_of(g.dtype());
        const Tensor incoming = repeats ? g : dense(g);
        const Tensor out = Tensor::empty(dense_a.shape(), dense_a.dtype(), dense_a.device());
        const StreamView on = current_stream(out.device());
        if (out.numel() > 0) {
          kernels::loss_gradient(on, how, operand(dense_a, on), operand(dense_b, on),
                                 operand(incoming, on), operand(out, on));
        }
        pass.accumulate(0, out);
        if (pass.needs(1)) pass.accumulate(1, causeway::unary(UnaryOp::negate, out));
      });
  return reduced(recorded, reduction);
}

}  // namespace causeway::autograd
