#include "causeway/tensor/matmul.h"

#include "causeway/core/error.h"
#include "causeway/kernels/matmul/matmul.h"
#include "causeway/kernels/matmul/matmul_layout.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"

#include <atomic>

#include <fmt/format.h>

namespace causeway {

namespace {

std::atomic<bool> tf32_allowed{false};

// A layout that BLAS accepts: the tensor itself, or a contiguous copy.
Tensor readable(const Tensor& x) {
  return kernels::is_matrix(operand(x, current_stream(x.device()))) ? x : x.clone();
}

Shape batch_shape(const Tensor& x) {
  return Shape(std::span(x.shape().begin(), static_cast<std::size_t>(x.n_dims() - 2)));
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

}  // namespace

void set_allow_tf32(bool allow) { tf32_allowed = allow; }
bool allow_tf32() { return tf32_allowed; }

Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.n_dims() == 0 || b.n_dims() == 0) {
    fail(ErrorKind::shape_mismatch, "matmul",
         "0-dimensional operands are not supported; use multiply");
  }
  if (a.n_dims() == 1) return matmul(a.unsqueeze(0), b).squeeze(b.n_dims() == 1 ? 0 : -2);
  if (b.n_dims() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  require_same_device("matmul", a, b);
  if (a.size(-1) != b.size(-2)) {
    fail(
        ErrorKind::shape_mismatch, "matmul",
        fmt::format("shapes {} and {}: the last dimension of the first operand ({}) must equal the "
                    "second-to-last of the second ({}){}",
                    to_string(a.shape()), to_string(b.shape()), a.size(-1), b.size(-2),
                    a.size(-1) == b.size(-1) ? "; transpose the second" : ""));
  }
  const DType dtype = promote(a.dtype(), b.dtype());
  if (!is_floating(dtype)) {
    fail(ErrorKind::invalid_argument, "matmul",
         fmt::format("expected floating types, got {} and {}; convert with .to(\"f32\")",
                     to_string(a.dtype()), to_string(b.dtype())));
  }
  if (b.n_dims() == 2 && a.n_dims() > 2 && a.is_contiguous() && a.numel() > 0) {
    // One matrix for the whole batch: flatten the batch into one tall product.
    Shape shape = a.shape();
    shape[a.n_dims() - 1] = b.size(-1);
    return matmul(a.reshape({-1, a.size(-1)}), b).reshape(shape);
  }
  const Shape batch = broadcast("matmul", batch_shape(a), batch_shape(b));
  const Tensor left = readable(a.to(dtype)).expand(with_matrix(batch, a.size(-2), a.size(-1)));
  const Tensor right = readable(b.to(dtype)).expand(with_matrix(batch, b.size(-2), b.size(-1)));
  const Shape shape = with_matrix(batch, a.size(-2), b.size(-1));
  if (a.size(-1) == 0) return zeros(shape, dtype, a.device());
  Tensor out = Tensor::empty(shape, dtype, a.device());
  const StreamView stream = current_stream(a.device());
  if (out.numel() > 0) {
    kernels::matmul(stream, operand(left, stream), operand(right, stream), operand(out, stream),
                    allow_tf32());
  }
  return out;
}

Tensor matmul_add(double alpha, const Tensor& a, const Tensor& b, double beta,
                  const Tensor& added) {
  require_same_device("matmul_add", a, b);
  require_same_device("matmul_add", a, added);
  const bool batched = a.n_dims() >= 2 && b.n_dims() == a.n_dims() &&
                       batch_shape(a) == batch_shape(b) && a.size(-1) == b.size(-2);
  const bool fits = batched &&
                    added.shape() == with_matrix(batch_shape(a), a.size(-2), b.size(-1)) &&
                    is_floating(a.dtype()) && b.dtype() == a.dtype() && added.dtype() == a.dtype();
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "matmul_add",
         fmt::format("{} of {}, {} of {} and {} of {}: expected (…, m, k), (…, k, n) and "
                     "(…, m, n) of one floating type",
                     to_string(a.shape()), to_string(a.dtype()), to_string(b.shape()),
                     to_string(b.dtype()), to_string(added.shape()), to_string(added.dtype())));
  }
  Tensor out = Tensor::empty(added.shape(), added.dtype(), added.device());
  if (out.numel() == 0) return out;
  if (a.size(-1) == 0) return added * Scalar(beta);
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  const Tensor dense = added.contiguous();
  const StreamView stream = current_stream(a.device());
  kernels::matmul_add(stream, alpha, operand(left, stream), operand(right, stream), beta,
                      operand(dense, stream), operand(out, stream), allow_tf32());
  return out;
}

}  // namespace causeway
