#include "causeway/autograd/linear_cross_entropy.h"

#include "causeway/autograd/dense.h"
#include "causeway/core/error.h"
#include "causeway/kernels/cross_entropy/cross_entropy.h"
#include "causeway/kernels/matmul/matmul.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

void require_shapes(const Tensor& x, const Tensor& weight, const Tensor& targets) {
  Shape rows = x.shape();
  if (rows.size() > 0) rows.erase(rows.size() - 1);
  const bool fits = x.n_dims() > 0 && weight.n_dims() == 2 && x.size(-1) == weight.size(1) &&
                    weight.size(0) > 0 && targets.shape() == rows && is_integer(targets.dtype());
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "linear_cross_entropy",
         fmt::format("x {}, weight {}, targets {} of {}: expected (…, width), (classes, width) and "
                     "integers (…)",
                     to_string(x.shape()), to_string(weight.shape()), to_string(targets.shape()),
                     to_string(targets.dtype())));
  }
  if (!is_floating(x.dtype()) || x.dtype() != weight.dtype()) {
    fail(ErrorKind::invalid_argument, "linear_cross_entropy",
         fmt::format("x is {} but weight is {}; expected one floating type, convert one with .to()",
                     to_string(x.dtype()), to_string(weight.dtype())));
  }
  require_same_device("linear_cross_entropy", x, weight);
  require_same_device("linear_cross_entropy", x, targets);
}

// One pass over the rows: losses, and the gradients that are wanted.
class HeadPass {
 public:
  HeadPass(const Tensor& rows, const Tensor& weight, const LinearCrossEntropyOptions& options)
      : rows_(rows), weight_(weight), options_(options), stream_(current_stream(rows.device())) {
    const DType wide = rows.dtype() == DType::f64 ? DType::f64 : DType::f32;
    losses_ = Tensor::empty({rows.size(0)}, wide, rows.device());
    n_classes_ = options.n_classes > 0 ? options.n_classes : weight.size(0);
    hidden_ = full({}, -std::numeric_limits<double>::infinity(), rows.dtype(), rows.device());
  }

  void want_rows() { row_gradient_ = Tensor::empty(rows_.shape(), rows_.dtype(), rows_.device()); }
  void want_weight() {
    weight_gradient_ = Tensor::empty(weight_.shape(), losses_.dtype(), weight_.device());
  }

  // `scale` multiplies the gradients.
  void run(const Tensor& targets, const Tensor& scale) {
    const std::int64_t n_rows = rows_.size(0);
    const std::int64_t step =
        rows_per_chunk(weight_.size(0), weight_.dtype(), weight_.device(), options_.chunk_bytes);
    for (std::int64_t begin = 0; begin < n_rows; begin += step) {
      run_chunk(begin, std::min(begin + step, n_rows), targets, scale);
    }
  }

  const Tensor& losses() const { return losses_; }
  const std::optional<Tensor>& row_gradient() const { return row_gradient_; }
  const std::optional<Tensor>& weight_gradient() const { return weight_gradient_; }

 private:
  void run_chunk(std::int64_t begin, std::int64_t end, const Tensor& targets, const Tensor& scale) {
    const Tensor rows = rows_.slice(0, begin, end);
    const Tensor logits = causeway::matmul(rows, weight_.transpose());
    if (n_classes_ < weight_.size(0)) {
      logits.slice(1, n_classes_).copy_from(hidden_);
    }
    kernels::CrossEntropy how;
    how.n_rows = end - begin;
    how.n_columns = weight_.size(0);
    how.ignore_index = options_.ignore_index;
    const bool wanted = row_gradient_.has_value() || weight_gradient_.has_value();
    kernels::cross_entropy(stream_, how, operand(logits, stream_),
                           operand(targets.slice(0, begin, end), stream_), operand(scale, stream_),
                           operand(losses_.slice(0, begin, end), stream_),
                           wanted ? operand(logits, stream_) : kernels::Operand());
    if (row_gradient_.has_value()) {
      kernels::matmul(stream_, operand(logits, stream_), operand(weight_, stream_),
                      operand(row_gradient_->slice(0, begin, end), stream_), allow_tf32());
    }
    if (weight_gradient_.has_value()) {
      const kernels::Operand sum = operand(*weight_gradient_, stream_);
      kernels::matmul_add(stream_, 1, operand(logits.transpose(), stream_), operand(rows, stream_),
                          begin > 0 ? 1 : 0, sum, sum, allow_tf32());
    }
  }

  Tensor rows_;
  Tensor weight_;
  LinearCrossEntropyOptions options_;
  StreamView stream_;
  std::int64_t n_classes_ = 0;
  Tensor hidden_;  // the logit of padding
  Tensor losses_;
  std::optional<Tensor> row_gradient_;
  std::optional<Tensor> weight_gradient_;
};

}  // namespace

std::int64_t rows_per_chunk(std::int64_t n_classes, DType dtype, Device device,
                            std::int64_t chunk_bytes) {
  constexpr std::int64_t kOnGpu = std::int64_t{1} << 30;
  constexpr std::int64_t kOnCpu = std::int64_t{16} << 20;
  const std::int64_t bytes = chunk_bytes > 0 ? chunk_bytes : (device.is_cuda() ? kOnGpu : kOnCpu);
  const auto row_bytes = n_classes * static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t rows = std::max<std::int64_t>(bytes / row_bytes, 1);
  return rows < 128 ? rows : rows / 128 * 128;
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options) {
  require_shapes(x, weight, targets);
  const Tensor rows = dense(detach(x)).reshape({-1, x.size(-1)});
  const Tensor goal = dense(targets.to(DType::i64)).flatten();
  HeadPass pass(rows, dense(detach(weight)), options);
  const DType wide = pass.losses().dtype();
  const StreamView stream = current_stream(x.device());
  Tensor scale = Tensor::empty({}, wide, x.device());
  kernels::CrossEntropy how;
  how.n_rows = rows.size(0);
  how.n_columns = options.n_classes > 0 ? options.n_classes : weight.size(0);
  how.ignore_index = options.ignore_index;
  kernels::target_weight(stream, how, operand(goal, stream), operand(scale, stream));
  if (options.scale.has_value()) scale = scale * options.scale->to(wide).reshape({});
  if (recording() && requires_grad(x)) pass.want_rows();
  if (recording() && requires_grad(weight)) pass.want_weight();
  pass.run(goal, scale);
  const Tensor loss = causeway::sum(pass.losses()) * scale;
  return record("linear_cross_entropy", loss, {&x, &weight}, Reads{},
                [shape = x.shape(), of_rows = pass.row_gradient(),
                 of_weight = pass.weight_gradient()](Backward& backward) {
                  const auto scaled = [&](const Tensor& gradient) {
                    return backward.is_seed() ? gradient : gradient * backward.gradient();
                  };
                  if (of_rows.has_value()) backward.accumulate(0, scaled(*of_rows).reshape(shape));
                  if (of_weight.has_value()) backward.accumulate(1, scaled(*of_weight));
                });
}

}  // namespace causeway::autograd
