#include "causeway/autograd/elementwise.h"

#include "causeway/autograd/dense.h"
#include "causeway/core/error.h"
#include "causeway/kernels/activation/swiglu.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

// gradient * derivative.
Tensor unary_gradient(UnaryOp op, const Tensor& saved, const Tensor& gradient) {
  const Tensor from = dense(saved);
  const Tensor incoming = dense(gradient);
  Tensor out = Tensor::empty(from.shape(), from.dtype(), from.device());
  const StreamView stream = current_stream(from.device());
  if (out.numel() > 0) {
    kernels::unary_gradient(stream, op, operand(from, stream), operand(incoming, stream),
                            operand(out, stream));
  }
  return out;
}

Tensor negative(const Tensor& x) { return causeway::unary(UnaryOp::negate, x); }

// 1 where `a` was selected, 1/2 where both are equal, in a's dtype.
Tensor share(CompareOp wins, const Tensor& a, const Tensor& b) {
  const Tensor sole = compare(wins, a, b).to(a.dtype());
  const Tensor tie = compare(CompareOp::equal, a, b).to(a.dtype());
  return sole + tie * Scalar(0.5);
}

// log(a), or 0 if a is not positive, where a^b does not depend on b.
Tensor log_or_zero(const Tensor& a) {
  const Tensor zero = zeros({}, a.dtype(), a.device());
  return causeway::where(compare(CompareOp::greater, a, Scalar(0.0)), causeway::log(a), zero);
}

// b * a^(b - 1), and 0 for b = 0 even if a is 0.
Tensor power_slope(const Tensor& a, Scalar b) {
  if (b.real == 0) return zeros(a.shape(), a.dtype(), a.device());
  return causeway::binary(BinaryOp::power, a, Scalar(b.real - 1)) * Scalar(b.real);
}
Tensor power_slope(const Tensor& a, const Tensor& b) {
  const Tensor slope = causeway::binary(BinaryOp::power, a, b - Scalar(1.0)) * b;
  const Tensor zero = zeros({}, slope.dtype(), slope.device());
  return causeway::where(compare(CompareOp::equal, b, Scalar(0.0)), zero, slope);
}

// Which of operands and result a gradient rule reads.
struct Needs {
  bool a = false;
  bool b = false;
  bool out = false;
};

// Needs of the gradient of the first operand, of the second, or of both: see sides_of.
Needs needs_of(BinaryOp op, bool first, bool second) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::subtract: return {};
    case BinaryOp::multiply: return {second, first, false};
    case BinaryOp::divide: return {false, first || second, second};
    case BinaryOp::power: return {first || second, first, second};
    case BinaryOp::remainder: return {second, second, false};
    case BinaryOp::minimum:
    case BinaryOp::maximum: return {first || second, first || second, false};
  }
  return {};
}

// The tensor, or an empty one if it is not needed.
Tensor kept(bool needed, const Tensor& x) { return needed ? detach(x) : Tensor(); }

// Derivatives with respect to the first and the second operand, times the gradient.
struct Sides {
  std::function<Tensor(const Tensor& gradient)> first;
  std::function<Tensor(const Tensor& gradient)> second;
};

Sides sides_of(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto same = [](const Tensor& g) { return g; };
  switch (op) {
    case BinaryOp::add: return {same, same};
    case BinaryOp::subtract: return {same, negative};
    case BinaryOp::multiply:
      return {[=](const Tensor& g) { return g * b; }, [=](const Tensor& g) { return g * a; }};
    case BinaryOp::divide:
      return {[=](const Tensor& g) { return g / b; },
              [=](const Tensor& g) { return negative(g * out / b); }};
    case BinaryOp::power:
      return {[=](const Tensor& g) { return g * power_slope(a, b); },
              [=](const Tensor& g) { return g * out * log_or_zero(a); }};
    case BinaryOp::remainder:
      return {same, [=](const Tensor& g) {
                return negative(g * causeway::unary(UnaryOp::floor, a / b));
              }};
    case BinaryOp::minimum:
      return {[=](const Tensor& g) { return g * share(CompareOp::less, a, b); },
              [=](const Tensor& g) { return g * share(CompareOp::less, b, a); }};
    case BinaryOp::maximum:
      return {[=](const Tensor& g) { return g * share(CompareOp::greater, a, b); },
              [=](const Tensor& g) { return g * share(CompareOp::greater, b, a); }};
  }
  return {same, same};
}

}  // namespace

Tensor unary(UnaryOp op, const Tensor& x) {
  const Tensor out = causeway::unary(op, x);
  const char* name = kernels::to_string(op).data();
  switch (op) {  // operations whose rules keep no tensors
    case UnaryOp::negate:
      return record(name, detach(out), {&x}, Reads{},
                    [](Backward& pass) { pass.accumulate(0, negative(pass.gradient())); });
    case UnaryOp::sign:
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::round:
    case UnaryOp::trunc:
      return record(name, detach(out), {&x}, Reads{}, [](Backward& pass) {
        const Tensor g = pass.gradient();
        pass.accumulate(0, zeros(g.shape(), g.dtype(), g.device()));
      });
    default: break;
  }
  const Tensor saved = detach(kernels::derives_from_result(op) ? out : x);
  return record(name, detach(out), {&x}, Reads{&saved}, [op, saved](Backward& pass) {
    pass.accumulate(0, unary_gradient(op, saved, pass.gradient()));
  });
}

Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b) {
  const Tensor out = causeway::binary(op, a, b);
  const Needs needs = needs_of(op, requires_grad(a), requires_grad(b));
  return record(kernels::to_string(op).data(), out, {&a, &b},
                Reads{needs.a ? &a : nullptr, needs.b ? &b : nullptr, needs.out ? &out : nullptr},
                [op, to_a = a.shape(), to_b = b.shape(), a = kept(needs.a, a), b = kept(needs.b, b),
                 out = kept(needs.out, out)](Backward& pass) {
                  const Sides sides = sides_of(op, a, b, out);
                  const Tensor g = pass.gradient();
                  if (pass.needs(0)) pass.accumulate(0, sum_to(sides.first(g), to_a));
                  if (pass.needs(1)) pass.accumulate(1, sum_to(sides.second(g), to_b));
                });
}

Tensor binary(BinaryOp op, const Tensor& a, Scalar b) {
  const Tensor out = causeway::binary(op, a, b);
  const char* name = kernels::to_string(op).data();
  if (op != BinaryOp::power && op != BinaryOp::minimum && op != BinaryOp::maximum) {
    return record(name, out, {&a}, Reads{}, [op, b](Backward& pass) {
      const Tensor g = pass.gradient();
      if (op == BinaryOp::multiply) return pass.accumulate(0, g * b);
      pass.accumulate(0, op == BinaryOp::divide ? g / b : g);
    });
  }
  return record(name, out, {&a}, Reads{&a}, [op, a = detach(a), b](Backward& pass) {
    const Tensor g = pass.gradient();
    if (op == BinaryOp::power) return pass.accumulate(0, g * power_slope(a, b));
    const CompareOp wins = op == BinaryOp::minimum ? CompareOp::less : CompareOp::greater;
    pass.accumulate(0, g * share(wins, a, full({}, b, a.dtype(), a.device())));
  });
}

Tensor binary(BinaryOp op, Scalar a, const Tensor& b) {
  const bool symmetric = op == BinaryOp::add || op == BinaryOp::multiply ||
                         op == BinaryOp::minimum || op == BinaryOp::maximum;
  if (symmetric) return autograd::binary(op, b, a);
  const Tensor out = causeway::binary(op, a, b);
  const Needs needs = needs_of(op, false, true);
  return record(
      kernels::to_string(op).data(), out, {&b},
      Reads{needs.b ? &b : nullptr, needs.out ? &out : nullptr},
      [op, a, dtype = b.dtype(), b = kept(needs.b, b), out = kept(needs.out, out)](Backward& pass) {
        const Tensor g = pass.gradient();
        const Tensor number = full({}, a.real, dtype, g.device());
        pass.accumulate(0, sides_of(op, number, b, out).second(g));
      });
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return record(
      "where", causeway::where(condition, a, b), {&a, &b}, Reads{&condition},
      [condition = detach(condition), to_a = a.shape(), to_b = b.shape()](Backward& pass) {
        const Tensor g = pass.gradient();
        const Tensor zero = zeros({}, g.dtype(), g.device());
        if (pass.needs(0)) pass.accumulate(0, sum_to(causeway::where(condition, g, zero), to_a));
        if (pass.needs(1)) pass.accumulate(1, sum_to(causeway::where(condition, zero, g), to_b));
      });
}

Tensor clamp(const Tensor& x, Scalar low, Scalar high) {
  return record("clamp", causeway::clamp(x, low, high), {&x}, Reads{&x},
                [x = detach(x), low, high](Backward& pass) {
                  const Tensor above = compare(CompareOp::greater_equal, x, low);
                  const Tensor below = compare(CompareOp::less_equal, x, high);
                  const Tensor inside = compare(CompareOp::logical_and, above, below);
                  pass.accumulate(0, pass.gradient() * inside.to(x.dtype()));
                });
}

Tensor activation(const Activation& how, const Tensor& x) {
  if (!is_floating(x.dtype())) {
    fail(ErrorKind::invalid_argument, kernels::to_string(how.op),
         fmt::format("expected a floating tensor, got {}; convert it with .to(\"f32\")",
                     to_string(x.dtype())));
  }
  const Tensor from = dense(detach(x));
  Tensor out = Tensor::empty(x.shape(), x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::activation(stream, how, operand(from, stream), operand(out, stream));
  }
  return record(kernels::to_string(how.op).data(), out, {&x}, Reads{&from},
                [how, from](Backward& pass) {
                  const Tensor incoming = dense(pass.gradient());
                  Tensor result = Tensor::empty(from.shape(), from.dtype(), from.device());
                  const StreamView on = current_stream(from.device());
                  if (result.numel() > 0) {
                    kernels::activation_gradient(on, how, operand(from, on), operand(incoming, on),
                                                 operand(result, on));
                  }
                  pass.accumulate(0, result);
                });
}

Tensor swiglu(const Tensor& x) {
  if (!is_floating(x.dtype()) || x.n_dims() == 0 || x.size(-1) % 2 != 0) {
    fail(ErrorKind::shape_mismatch, "swiglu",
         fmt::format("{} of {}: expected (…, 2 * width) of a floating type", to_string(x.shape()),
                     to_string(x.dtype())));
  }
  Shape shape = x.shape();
  shape[shape.size() - 1] /= 2;
  const std::int64_t width = shape.back();
  const Tensor from =
      dense(detach(x)).reshape({width > 0 ? x.numel() / (2 * width) : 0, 2 * width});
  Tensor out = Tensor::empty({from.size(0), width}, x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) kernels::swiglu(stream, operand(from, stream), operand(out, stream));
  return record(
      "swiglu", out.reshape(shape), {&x}, Reads{&from}, [from, given = x.shape()](Backward& pass) {
        const Tensor incoming = dense(pass.gradient());
        Tensor result = Tensor::empty(from.shape(), from.dtype(), from.device());
        const StreamView on = current_stream(from.device());
        const Tensor rows = incoming.reshape({from.size(0), from.size(1) / 2});
        if (result.numel() > 0) {
          kernels::swiglu_gradient(on, operand(from, on), operand(rows, on), operand(result, on));
        }
        pass.accumulate(0, result.reshape(given));
      });
}

}  // namespace causeway::autograd
