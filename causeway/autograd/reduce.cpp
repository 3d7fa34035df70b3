#include "causeway/autograd/reduce.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"
#include "causeway/tensor/operand.h"

namespace causeway::autograd {

namespace {

// The result shape of a reduction with keep_dims.
Shape kept_shape(const Tensor& x, const std::vector<int>& axes) {
  Shape shape = x.shape();
  for (int axis : normalize_axes("reduce", axes, x.n_dims())) shape[axis] = 1;
  return shape;
}

// The product of all other elements, times the gradient. With one zero only that element has a
// gradient; with two or more all gradients are 0.
Tensor product_gradient(const Tensor& x, const std::vector<int>& axes, const Tensor& gradient) {
  const Tensor is_zero = compare(CompareOp::equal, x, Scalar(0.0));
  const Tensor one = ones({}, x.dtype(), x.device());
  const Tensor zero = zeros({}, x.dtype(), x.device());
  const Tensor others = causeway::reduce(ReduceOp::prod, where(is_zero, one, x), axes, true);
  const Tensor n_zeros = causeway::reduce(ReduceOp::sum, is_zero.to(x.dtype()), axes, true);
  const Tensor none = compare(CompareOp::equal, n_zeros, Scalar(0.0));
  const Tensor single = compare(CompareOp::equal, n_zeros, Scalar(1.0));
  const Tensor at_zero = where(single, others, zero);
  const Tensor elsewhere = where(none, others / where(is_zero, one, x), zero);
  return gradient * where(is_zero, at_zero, elsewhere);
}

// 16-bit types cannot hold large counts or their inverses: gradients are divided in f32.
Tensor widened(const Tensor& x) { return x.dtype() == DType::f64 ? x : x.to(DType::f32); }

Tensor extreme_gradient(const Tensor& x, const Tensor& extreme, const std::vector<int>& axes,
                        const Tensor& gradient) {
  const Tensor mask = compare(CompareOp::equal, x, extreme).to(x.dtype());
  const Tensor count = causeway::sum(widened(mask), axes, true);
  return mask * (gradient / count);
}

// Elements of a tensor of `shape` per element of g.
double summands(const Shape& shape, const Tensor& g) {
  return static_cast<double>(numel(shape)) /
         static_cast<double>(std::max<std::int64_t>(g.numel(), 1));
}

// The divisor of a variance.
double divisor(const Shape& shape, const Tensor& g, double correction) {
  return std::max(summands(shape, g) - correction, 0.0);
}

}  // namespace

Tensor reduce(ReduceOp op, const Tensor& x, const std::vector<int>& axes, bool keep_dims) {
  const Tensor out = causeway::reduce(op, x, axes, keep_dims);
  if (op == ReduceOp::argmin || op == ReduceOp::argmax) return out;
  const Shape kept = kept_shape(x, axes);
  const char* name = kernels::to_string(op).data();
  if (op == ReduceOp::sum || op == ReduceOp::mean) {  // rules that keep no tensors
    return record(name, out, {&x}, Reads{},
                  [op, kept, shape = x.shape(), dtype = x.dtype()](Backward& pass) {
                    const Tensor g = pass.gradient().reshape(kept);
                    if (op == ReduceOp::sum) return pass.accumulate(0, g.expand(shape));
                    const Tensor share = widened(g) / Scalar(summands(shape, g));
                    pass.accumulate(0, share.to(dtype).expand(shape));
                  });
  }
  return record(name, out, {&x}, Reads{&x, &out},
                [op, axes, kept, x = detach(x), out](Backward& pass) {
                  const Tensor g = pass.gradient().reshape(kept);
                  if (op == ReduceOp::prod) return pass.accumulate(0, product_gradient(x, axes, g));
                  pass.accumulate(0, extreme_gradient(x, out.reshape(kept), axes, g));
                });
}

Tensor variance(const Tensor& x, const std::vector<int>& axes, double correction, bool keep_dims) {
  const Shape kept = kept_shape(x, axes);
  return record("var", causeway::variance(x, axes, correction, keep_dims), {&x}, Reads{&x},
                [axes, correction, kept, x = detach(x)](Backward& pass) {
                  const Tensor g = pass.gradient().reshape(kept);
                  const Tensor centred = x - causeway::mean(x, axes, true);
                  const double factor = 2 / divisor(x.shape(), g, correction);
                  pass.accumulate(0, centred * (widened(g) * Scalar(factor)));
                });
}

Tensor deviation(const Tensor& x, const std::vector<int>& axes, double correction, bool keep_dims) {
  const Shape kept = kept_shape(x, axes);
  const Tensor out =
      causeway::unary(UnaryOp::square_root, causeway::variance(x, axes, correction, keep_dims));
  return record("std", out, {&x}, Reads{&x, &out},
                [axes, correction, kept, x = detach(x), out](Backward& pass) {
                  const Tensor g = widened(pass.gradient().reshape(kept));
                  const Tensor spread = widened(out.reshape(kept));
                  const Tensor centred = x - causeway::mean(x, axes, true);
                  const Tensor factor = g / (spread * Scalar(divisor(x.shape(), g, correction)));
                  const Tensor flat = compare(CompareOp::equal, spread, Scalar(0.0));
                  pass.accumulate(
                      0, centred * causeway::where(flat, zeros({}, g.dtype(), g.device()), factor));
                });
}

Tensor cumulative_sum(const Tensor& x, int axis) {
  return record("cumsum", causeway::cumulative_sum(x, axis), {&x}, Reads{}, [axis](Backward& pass) {
    const auto reversed = [axis](const Tensor& t) { return t.slice(axis, -1, Tensor::kEnd, -1); };
    pass.accumulate(0, reversed(causeway::cumulative_sum(reversed(pass.gradient()), axis)));
  });
}

namespace {

Sorted record_sorted(const char* name, const Tensor& x, int axis, Sorted sorted) {
  sorted.values = record(name, sorted.values, {&x}, Reads{&sorted.indices},
                         [axis, indices = sorted.indices, shape = x.shape()](Backward& pass) {
                           const Tensor g = pass.gradient();
                           const Tensor nothing = zeros(shape, g.dtype(), g.device());
                           pass.accumulate(0, scatter(nothing, axis, indices, g));
                         });
  return sorted;
}

}  // namespace

Sorted sort(const Tensor& x, int axis, bool descending) {
  return record_sorted("sort", x, axis, causeway::sort(x, axis, descending));
}

Sorted topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
  return record_sorted("topk", x, axis, causeway::topk(x, k, axis, largest));
}

}  // namespace causeway::autograd
