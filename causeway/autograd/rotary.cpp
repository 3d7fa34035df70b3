#include "causeway/autograd/rotary.h"

#include "causeway/autograd/dense.h"
#include "causeway/core/error.h"
#include "causeway/kernels/rotary/rotary.h"
#include "causeway/tensor/operand.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace causeway::autograd {

namespace {

Tensor apply(const kernels::Rotary& how, const Tensor& x, const Tensor& table) {
  const Tensor in = dense(x);
  Tensor out = Tensor::empty(in.shape(), in.dtype(), in.device());
  const StreamView stream = current_stream(in.device());
  if (out.numel() > 0) {
    kernels::rotary(stream, how, operand(in, stream), operand(table, stream), operand(out, stream));
  }
  return out;
}

}  // namespace

Tensor rotary_table(std::int64_t length, std::int64_t head_size, double base, Device device) {
  const std::int64_t half = head_size / 2;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(length * half * 2));
  for (std::int64_t position = 0; position < length; ++position) {
    for (std::int64_t pair = 0; pair < half; ++pair) {
      const double power = -2.0 * static_cast<double>(pair) / static_cast<double>(head_size);
      const double angle = static_cast<double>(position) * std::pow(base, power);
      values.push_back(static_cast<float>(std::cos(angle)));
      values.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return Tensor::from<float>(values, {length, half, 2}, device);
}

Tensor rotary(const Tensor& x, const Tensor& table, std::int64_t n_rotated) {
  const bool fits = x.n_dims() == 4 && is_floating(x.dtype()) && x.size(3) % 2 == 0 &&
                    n_rotated >= 0 && n_rotated <= x.size(2) && table.n_dims() == 3 &&
                    table.dtype() == DType::f32 && table.is_contiguous() &&
                    table.size(0) >= x.size(1) && table.size(1) == x.size(3) / 2 &&
                    table.size(2) == 2;
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "rotary",
         fmt::format("x {} of {}, table {} of {}, {} rotated heads: expected (batch, length, "
                     "heads, size) and (length or more, size / 2, 2) f32",
                     to_string(x.shape()), to_string(x.dtype()), to_string(table.shape()),
                     to_string(table.dtype()), n_rotated));
  }
  require_same_device("rotary", x, table);
  return record("rotary", apply({n_rotated, false}, detach(x), table), {&x}, Reads{&table},
                [table, n_rotated](Backward& pass) {
                  pass.accumulate(0, apply({n_rotated, true}, pass.gradient(), table));
                });
}

}  // namespace causeway::autograd
