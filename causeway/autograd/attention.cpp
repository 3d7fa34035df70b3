#include "causeway/autograd/attention.h"

#include "causeway/autograd/autocast.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/operand.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

// Allocates with the memory order of `like`, viewed as (batch, length, heads, size) if that is
// contiguous.
Tensor empty_like_layout(const Tensor& like) {
  const Shape& s = like.shape();
  if (like.is_contiguous()) return Tensor::empty(s, like.dtype(), like.device());
  return Tensor::empty({s[0], s[2], s[1], s[3]}, like.dtype(), like.device()).transpose(1, 2);
}

Tensor readable(const Tensor& x) {
  const Tensor plain = detach(x);
  return plain.strides().back() == 1 || plain.shape().back() == 1 ? plain : plain.clone();
}

struct Call {
  kernels::Attention how;
  std::optional<Tensor> context;

  kernels::Operand context_operand(StreamView stream) const {
    return context.has_value() ? operand(*context, stream) : kernels::Operand();
  }
  const Tensor* context_read() const { return context.has_value() ? &*context : nullptr; }
};

Call make_call(const AttentionOptions& options, std::int64_t batch, std::int64_t head_size,
               Device device) {
  Call call;
  call.how.mask = options.causal ? AttentionMask::causal : AttentionMask::full;
  call.how.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(head_size)));
  call.how.path = options.path;
  call.how.deterministic = options.deterministic;
  if (options.context.has_value()) {
    if (options.context->shape() != Shape{batch} || !is_integer(options.context->dtype())) {
      fail(ErrorKind::shape_mismatch, "attention",
           fmt::format("context is {} of {}; expected ({},) integers, one per batch "
                       "entry",
                       to_string(options.context->shape()), to_string(options.context->dtype()),
                       batch));
    }
    call.context = options.context->to(DType::i64).to(device).contiguous();
  }
  return call;
}

void require_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  require_same_device("attention", q, k);
  require_same_device("attention", k, v);
  const bool four = q.n_dims() == 4 && k.n_dims() == 4 && v.n_dims() == 4;
  const bool fits = four && k.shape() == v.shape() && q.size(0) == k.size(0) &&
                    q.size(1) == k.size(1) && q.size(3) == k.size(3) && q.size(3) > 0;
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "attention",
         fmt::format("q {}, k {}, v {}: expected (batch, heads, length, size), with k and v of one "
                     "shape",
                     to_string(q.shape()), to_string(k.shape()), to_string(v.shape())));
  }
  const bool typed = is_floating(q.dtype()) && q.dtype() == k.dtype() && k.dtype() == v.dtype();
  if (!typed) {
    fail(ErrorKind::invalid_argument, "attention",
         fmt::format("q is {}, k {}, v {}; expected one floating type", to_string(q.dtype()),
                     to_string(k.dtype()), to_string(v.dtype())));
  }
}

// Runs the kernel into `out`; returns the log-sum-exp of each row.
Tensor run_forward(const Call& call, const Tensor& q, const Tensor& k, const Tensor& v,
                   const Tensor& out) {
  const DType wide = q.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor log_sum = Tensor::empty({q.size(0), q.size(1), q.size(2)}, wide, q.device());
  const StreamView stream = current_stream(q.device());
  if (out.numel() > 0) {
    kernels::attention(stream, call.how, operand(q, stream), operand(k, stream), operand(v, stream),
                       call.context_operand(stream), operand(out, stream),
                       operand(log_sum, stream));
  }
  return log_sum;
}

void run_backward(const Call& call, const Tensor& q, const Tensor& k, const Tensor& v,
                  const Tensor& out, const Tensor& log_sum, const Tensor& gradient,
                  const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  if (q.numel() == 0 && k.numel() == 0) return;
  const StreamView stream = current_stream(q.device());
  const Tensor g = readable(gradient);
  kernels::attention_gradient(stream, call.how, operand(q, stream), operand(k, stream),
                              operand(v, stream), call.context_operand(stream),
                              operand(out, stream), operand(log_sum, stream), operand(g, stream),
                              operand(dq, stream), operand(dk, stream), operand(dv, stream));
}

// Selects q, k or v along dimension `part` of a 5-D view, as (batch, heads, length, size).
Tensor pick(const Tensor& packed, int part, int which) {
  return packed.select(part, which).transpose(1, 2);
}

// Attention of a tensor with q, k and v along dimension `part`: (batch, length, heads, size).
Tensor attend_packed(const Tensor& qkv, const Shape& five, int part,
                     const AttentionOptions& options) {
  const std::int64_t n_heads = five[part == 2 ? 3 : 2];
  const Call call = make_call(options, five[0], five[4], qkv.device());
  const Tensor packed = detach(qkv).contiguous().reshape(five);
  const Tensor out = Tensor::empty({five[0], five[1], n_heads, five[4]}, qkv.dtype(), qkv.device());
  const Tensor log_sum = run_forward(call, pick(packed, part, 0), pick(packed, part, 1),
                                     pick(packed, part, 2), out.transpose(1, 2));
  return record(
      "attention", out, {&qkv}, Reads{&packed, &out, call.context_read()},
      [call, part, packed, out, log_sum, shape = qkv.shape()](Backward& pass) {
        const Tensor result = Tensor::empty(packed.shape(), packed.dtype(), packed.device());
        const Tensor g = pass.gradient().contiguous();
        run_backward(call, pick(packed, part, 0), pick(packed, part, 1), pick(packed, part, 2),
                     out.transpose(1, 2), log_sum, g.transpose(1, 2), pick(result, part, 0),
                     pick(result, part, 1), pick(result, part, 2));
        pass.accumulate(0, result.reshape(shape));
      });
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options) {
  if (narrows({&q, &k, &v})) return attention(narrowed(q), narrowed(k), narrowed(v), options);
  require_heads(q, k, v);
  const Call call = make_call(options, q.size(0), q.size(3), q.device());
  const Tensor queries = readable(q);
  const Tensor keys = readable(k);
  const Tensor values = readable(v);
  const Tensor out = empty_like_layout(queries);
  const Tensor log_sum = run_forward(call, queries, keys, values, out);
  return record(
      "attention", out, {&q, &k, &v}, Reads{&queries, &keys, &values, &out, call.context_read()},
      [call, queries, keys, values, out, log_sum](Backward& pass) {
        const Tensor dq = empty_like_layout(queries);
        const Tensor dk = empty_like_layout(keys);
        const Tensor dv = empty_like_layout(values);
        run_backward(call, queries, keys, values, out, log_sum, pass.gradient(), dq, dk, dv);
        pass.accumulate(0, dq);
        pass.accumulate(1, dk);
        pass.accumulate(2, dv);
      });
}

Tensor attention_packed(const Tensor& qkv, std::int64_t n_heads, const AttentionOptions& options) {
  if (narrows({&qkv})) return attention_packed(narrowed(qkv), n_heads, options);
  if (qkv.n_dims() != 3 || n_heads <= 0 || qkv.size(2) % (3 * n_heads) != 0 || qkv.size(2) == 0 ||
      !is_floating(qkv.dtype())) {
    fail(ErrorKind::shape_mismatch, "attention_packed",
         fmt::format("{} of {} with {} heads: expected (batch, length, 3 * heads * size) of a "
                     "floating type",
                     to_string(qkv.shape()), to_string(qkv.dtype()), n_heads));
  }
  const std::int64_t head_size = qkv.size(2) / (3 * n_heads);
  const Tensor out =
      attend_packed(qkv, {qkv.size(0), qkv.size(1), 3, n_heads, head_size}, 2, options);
  return reshape(out, {qkv.size(0), qkv.size(1), n_heads * head_size});
}

Tensor attention_by_heads(const Tensor& qkv, const AttentionOptions& options) {
  if (qkv.n_dims() != 5 || qkv.size(3) != 3 || !is_floating(qkv.dtype())) {
    fail(ErrorKind::shape_mismatch, "attention_by_heads",
         fmt::format("{} of {}: expected (batch, length, heads, 3, size) of a floating type",
                     to_string(qkv.shape()), to_string(qkv.dtype())));
  }
  return attend_packed(qkv, qkv.shape(), 3, options);
}

Tensor attention_by_heads(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
  if (kv.n_dims() != 5 || kv.size(3) != 2 || q.n_dims() != 4) {
    fail(
        ErrorKind::shape_mismatch, "attention_by_heads",
        fmt::format("q {}, kv {}: expected (batch, n_queries, heads, size), (batch, n_keys, heads, "
                    "2, size)",
                    to_string(q.shape()), to_string(kv.shape())));
  }
  const Tensor queries = detach(q).contiguous().transpose(1, 2);
  const Tensor packed = detach(kv).contiguous();
  require_heads(queries, pick(packed, 3, 0), pick(packed, 3, 1));
  const Call call = make_call(options, q.size(0), q.size(3), q.device());
  const Tensor out = Tensor::empty(q.shape(), q.dtype(), q.device());
  const Tensor log_sum =
      run_forward(call, queries, pick(packed, 3, 0), pick(packed, 3, 1), out.transpose(1, 2));
  return record("attention", out, {&q, &kv}, Reads{&queries, &packed, &out, call.context_read()},
                [call, queries, packed, out, log_sum](Backward& pass) {
                  const Tensor dq = Tensor::empty(out.shape(), out.dtype(), out.device());
                  const Tensor dkv = Tensor::empty(packed.shape(), packed.dtype(), packed.device());
                  const Tensor g = pass.gradient().contiguous();
                  run_backward(call, queries, pick(packed, 3, 0), pick(packed, 3, 1),
                               out.transpose(1, 2), log_sum, g.transpose(1, 2), dq.transpose(1, 2),
                               pick(dkv, 3, 0), pick(dkv, 3, 1));
                  pass.accumulate(0, dq);
                  pass.accumulate(1, dkv);
                });
}

}  // namespace causeway::autograd
