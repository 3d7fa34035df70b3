#include "causeway/autograd/matmul.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/kernels/matmul/matmul.h"
#include "causeway/kernels/matmul/matmul_layout.h"
#include "causeway/kernels/reduce/reduce.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/matmul.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/reduce.h"

#include <utility>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

using kernels::Epilogue;

Tensor rows_of(const Tensor& x) {
  std::int64_t n_rows = 1;
  for (int dim = 0; dim + 1 < x.n_dims(); ++dim) n_rows *= x.size(dim);
  return x.reshape({n_rows, x.size(-1)});
}

Tensor matrix_gradient_a(const Tensor& g, const Tensor& b, const Shape& shape) {
  return sum_to(causeway::matmul(g, b.transpose()), shape);
}

Tensor matrix_gradient_b(const Tensor& a, const Tensor& g, const Shape& shape) {
  if (shape.size() == 2 && a.n_dims() > 2 && a.numel() > 0) {
    // One matrix for the whole batch: flatten the batch into one product.
    return causeway::matmul(rows_of(a).transpose(), rows_of(g));
  }
  return sum_to(causeway::matmul(a.transpose(), g), shape);
}

// Additional operands of a product's epilogue.
struct Extras {
  const Tensor* bias = nullptr;
  const Tensor* aux = nullptr;
};

Tensor readable(const Tensor& x) {
  return kernels::is_matrix(operand(x, current_stream(x.device()))) ? x : x.clone();
}

// epilogue(a b) of matrices; zeros if the inner dimension is 0.
Tensor product(Epilogue epilogue, const Tensor& a, const Tensor& b, const Extras& extras = {}) {
  if (a.size(1) == 0) {
    // Empty inner dimension: use one term of zeros.
    return product(epilogue, zeros({a.size(0), 1}, a.dtype(), a.device()),
                   zeros({1, b.size(1)}, a.dtype(), a.device()), extras);
  }
  const StreamView stream = current_stream(a.device());
  const auto maybe = [&](const Tensor* x) {
    return x == nullptr ? kernels::Operand() : operand(*x, stream);
  };
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  Tensor out = Tensor::empty({a.size(0), b.size(1)}, a.dtype(), a.device());
  if (out.numel() == 0) return out;
  kernels::linear(stream, epilogue, operand(left, stream), operand(right, stream),
                  maybe(extras.bias), maybe(extras.aux), operand(out, stream), allow_tf32());
  return out;
}

// Accumulates g weight into the gradient of input 0, fused with the gradient so far.
void accumulate_product(Backward& pass, const Tensor& g, const Tensor& weight, const Shape& shape) {
  const std::optional<Tensor> before = pass.take_gradient(0);
  if (!before.has_value() || g.numel() == 0 || weight.numel() == 0) {
    if (before.has_value()) pass.accumulate(0, *before);
    return pass.accumulate(0, product(Epilogue::none, g, weight).reshape(shape));
  }
  const Tensor added = before->reshape({g.size(0), weight.size(1)});
  const Tensor sum = causeway::matmul_add(1, g, weight, 1, added);
  pass.accumulate(0, sum.reshape(shape));
}

// The backward pass of a linear layer with contiguous rows. Gradients of the parameters are
// computed on a side stream.
class ParameterGradients {
 public:
  // Of the inputs `weight_at` and, if there is a bias, `bias_at`. Work that the rule queues later
  // is not waited for.
  ParameterGradients(Backward& pass, int weight_at, std::optional<int> bias_at, const Tensor& g,
                     const Tensor& rows)
      : pass_(pass),
        weight_at_(weight_at),
        bias_at_(bias_at.value_or(0)),
        g_(g),
        rows_(rows),
        stream_(current_stream(g.device())) {
    const bool bias = bias_at.has_value() && pass.needs(*bias_at);
    const auto make = g.numel() == 0 ? zeros : Tensor::empty;
    if (pass.needs(weight_at)) weight_ = make({g.size(1), rows.size(1)}, g.dtype(), g.device());
    if (bias) bias_ = make({g.size(1)}, g.dtype(), g.device());
    if (g.numel() == 0 || (!weight_.has_value() && !bias)) return;
    stream_ = bias ? pass.side_stream({weight_at, *bias_at}, {g, rows})
                   : pass.side_stream({weight_at}, {g, rows});
  }

  void finish() {
    // The engine keeps these tensors alive until the side stream is done with them.
    const auto of = [](const Tensor& x) { return operand(x, current_stream(x.device())); };
    if (weight_.has_value() && g_.numel() > 0 && rows_.numel() > 0) {
      kernels::linear(stream_, Epilogue::none, of(g_.transpose()), of(rows_), {}, {}, of(*weight_),
                      allow_tf32());
    }
    if (bias_.has_value() && g_.numel() > 0) {
      kernels::reduce(stream_, kernels::ReduceOp::sum, of(g_), of(*bias_),
                      {1, g_.size(0), g_.size(1)});
    }
    if (weight_.has_value()) pass_.accumulate(weight_at_, *std::exchange(weight_, std::nullopt));
    if (bias_.has_value()) pass_.accumulate(bias_at_, *std::exchange(bias_, std::nullopt));
  }

 private:
  Backward& pass_;
  int weight_at_;
  int bias_at_;
  Tensor g_;
  Tensor rows_;
  std::optional<Tensor> weight_;
  std::optional<Tensor> bias_;
  StreamView stream_;
};

Shape with_last(Shape shape, std::int64_t size) {
  shape[shape.size() - 1] = size;
  return shape;
}

void require_linear(const char* name, const Tensor& x, const Tensor& weight, const Tensor* bias) {
  const bool fits = x.n_dims() >= 1 && weight.n_dims() == 2 && x.size(-1) == weight.size(1) &&
                    (bias == nullptr || bias->shape() == Shape{weight.size(0)});
  if (!fits) {
    fail(ErrorKind::shape_mismatch, name,
         fmt::format("x {}, weight {}{}: expected (…, in), (out, in){}", to_string(x.shape()),
                     to_string(weight.shape()),
                     bias == nullptr ? "" : " and bias " + to_string(bias->shape()),
                     bias == nullptr ? "" : " and (out,)"));
  }
  if (!is_floating(x.dtype()) || x.dtype() != weight.dtype() ||
      (bias != nullptr && bias->dtype() != x.dtype())) {
    fail(ErrorKind::invalid_argument, name,
         fmt::format("x is {} but weight is {}; expected one floating type, convert one with "
                     ".to()",
                     to_string(x.dtype()), to_string(weight.dtype())));
  }
  require_same_device(name, x, weight);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (narrows({&a, &b})) return autograd::matmul(narrowed(a), narrowed(b));
  if (a.n_dims() == 1 && b.n_dims() >= 1) {
    return autograd::squeeze(autograd::matmul(autograd::unsqueeze(a, 0), b),
                             b.n_dims() == 1 ? 0 : -2);
  }
  if (b.n_dims() == 1 && a.n_dims() >= 1) {
    return autograd::squeeze(autograd::matmul(a, autograd::unsqueeze(b, 1)), -1);
  }
  const bool reads_a = requires_grad(b);
  const bool reads_b = requires_grad(a);
  return record("matmul", causeway::matmul(a, b), {&a, &b},
                Reads{reads_a ? &a : nullptr, reads_b ? &b : nullptr},
                [to_a = a.shape(), to_b = b.shape(), a = reads_a ? detach(a) : Tensor(),
                 b = reads_b ? detach(b) : Tensor()](Backward& pass) {
                  const Tensor g = pass.gradient();
                  if (pass.needs(0)) pass.accumulate(0, matrix_gradient_a(g, b, to_a));
                  if (pass.needs(1)) pass.accumulate(1, matrix_gradient_b(a, g, to_b));
                });
}

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const Tensor* added = bias.has_value() ? &*bias : nullptr;
  if (narrows({&x, &weight, added})) return linear(narrowed(x), narrowed(weight), narrowed(bias));
  require_linear("linear", x, weight, added);
  const Tensor rows = detach(rows_of(x.contiguous()));
  Tensor dense_bias;
  Extras extras;
  if (added != nullptr) {
    dense_bias = added->contiguous();
    extras.bias = &dense_bias;
  }
  const Tensor out =
      product(added != nullptr ? Epilogue::bias : Epilogue::none, rows, weight.transpose(), extras)
          .reshape(with_last(x.shape(), weight.size(0)));
  const std::optional<int> bias_at = added != nullptr ? std::optional(2) : std::nullopt;
  // The rows are kept only for the weight's gradient, the weight only for the input's.
  const Reads reads{requires_grad(weight) ? &rows : nullptr, requires_grad(x) ? &weight : nullptr};
  const auto kept = [](const Tensor* t) { return t != nullptr ? detach(*t) : Tensor(); };
  const auto rule = [rows = kept(reads[0]), weight = kept(reads[1]), shape = x.shape(),
                     bias_at](Backward& pass) {
    const Tensor g = rows_of(pass.gradient().contiguous());
    ParameterGradients parameters(pass, 1, bias_at, g, rows);
    if (pass.needs(0)) accumulate_product(pass, g, weight, shape);
    parameters.finish();
  };
  if (added == nullptr) return record("linear", out, {&x, &weight}, reads, rule);
  return record("linear", out, {&x, &weight, added}, reads, rule);
}

Tensor mlp(const Tensor& x, const Tensor& weight_in, const std::optional<Tensor>& bias_in,
           const Tensor& weight_out, const std::optional<Tensor>& bias_out, bool keep_hidden) {
  const Tensor* first = bias_in.has_value() ? &*bias_in : nullptr;
  const Tensor* second = bias_out.has_value() ? &*bias_out : nullptr;
  if ((first == nullptr) != (second == nullptr)) {
    fail(ErrorKind::invalid_argument, "mlp", "expected both biases or none");
  }
  if (narrows({&x, &weight_in, first, &weight_out, second})) {
    return mlp(narrowed(x), narrowed(weight_in), narrowed(bias_in), narrowed(weight_out),
               narrowed(bias_out), keep_hidden);
  }
  require_linear("mlp", x, weight_in, first);
  const Tensor rows = detach(rows_of(x.contiguous()));
  Tensor dense[2];
  Extras of_hidden;
  Extras of_out;
  if (first != nullptr) {
    dense[0] = first->contiguous();
    dense[1] = second->contiguous();
    of_hidden.bias = &dense[0];
    of_out.bias = &dense[1];
  }
  // For the gradient; the GPU's kernel writes it in any case.
  Tensor before;
  const bool has_before = recording() || x.device().is_cuda();
  if (has_before) {
    before = Tensor::empty({rows.size(0), weight_in.size(0)}, x.dtype(), x.device());
    of_hidden.aux = &before;
  }
  const Tensor hidden = product(first != nullptr ? Epilogue::bias_gelu : Epilogue::gelu, rows,
                                weight_in.transpose(), of_hidden);
  require_linear("mlp", hidden, weight_out, second);
  const Tensor out = product(second != nullptr ? Epilogue::bias : Epilogue::none, hidden,
                             weight_out.transpose(), of_out)
                         .reshape(with_last(x.shape(), weight_out.size(0)));
  std::optional<Tensor> kept;
  if (keep_hidden) kept = hidden;
  const bool has_biases = first != nullptr;
  const auto rule = [rows, before, kept, weight_in = detach(weight_in),
                     weight_out = detach(weight_out), shape = x.shape(),
                     has_biases](Backward& pass) {
    const auto bias_at = [&](int at) { return has_biases ? std::optional(at) : std::nullopt; };
    const Tensor g = rows_of(pass.gradient().contiguous());
    const Tensor again = kept.has_value() ? *kept : unary(UnaryOp::gelu_tanh, before);
    ParameterGradients outer(pass, 2, bias_at(4), g, again);
    if (!pass.needs(0) && !pass.needs(1) && !(has_biases && pass.needs(3))) return outer.finish();
    const Tensor slopes = product(Epilogue::gelu_gradient, g, weight_out, {nullptr, &before});
    outer.finish();
    ParameterGradients inner(pass, 1, bias_at(3), slopes, rows);
    if (pass.needs(0)) accumulate_product(pass, slopes, weight_in, shape);
    inner.finish();
  };
  const Reads reads{&rows, &weight_in, &weight_out};
  if (!has_biases) return record("mlp", out, {&x, &weight_in, &weight_out}, reads, rule);
  return record("mlp", out, {&x, &weight_in, &weight_out, first, second}, reads, rule);
}

}  // namespace causeway::autograd
