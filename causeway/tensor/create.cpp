#include "causeway/tensor/create.h"

#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"
#include "causeway/tensor/sort.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway {

Tensor full(const Shape& shape, Scalar value, DType dtype, Device device) {
  require_fits("full", value, dtype);
  Tensor tensor = Tensor::empty(shape, dtype, device);
  if (tensor.numel() == 0) return tensor;
  const StreamView stream = current_stream(device);
  kernels::fill(stream, value, operand(tensor, stream));
  return tensor;
}

Tensor zeros(const Shape& shape, DType dtype, Device device) {
  return full(shape, 0, dtype, device);
}
Tensor ones(const Shape& shape, DType dtype, Device device) {
  return full(shape, 1, dtype, device);
}

namespace {

// Number of values start, start + step, ... before `stop`.
std::uint64_t count_of(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto apart = [](std::int64_t low, std::int64_t high) {
    return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  };
  const std::uint64_t distance = step > 0 ? apart(start, stop) : apart(stop, start);
  return (distance - 1) / (step > 0 ? apart(0, step) : apart(step, 0)) + 1;
}

}  // namespace

Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype, Device device) {
  if (step.real == 0) fail(ErrorKind::invalid_argument, "arange", "step must not be 0");
  const bool whole = start.is_integer && stop.is_integer && step.is_integer;
  const double length =
      whole ? static_cast<double>(count_of(start.integer, stop.integer, step.integer))
            : std::ceil((stop.real - start.real) / step.real);
  if (!(length < 9e15)) {
    fail(ErrorKind::invalid_argument, "arange",
         fmt::format("range {} to {} with step {} has too many elements", start.real, stop.real,
                     step.real));
  }
  const auto count = static_cast<std::int64_t>(std::max(length, 0.0));
  const bool exact = start.is_integer && step.is_integer;
  const Tensor values = Tensor::empty({count}, exact ? DType::i64 : DType::f64, device);
  if (count == 0) return values.to(dtype);
  const StreamView stream = current_stream(device);
  kernels::sequence(stream, start, step, operand(values, stream));
  return values.to(dtype);
}

Tensor eye(std::int64_t n, DType dtype, Device device) {
  Tensor matrix = zeros({n, n}, dtype, device);
  if (n == 0) return matrix;
  // The diagonal is every (n + 1)-th element.
  matrix.flatten().slice(0, 0, Tensor::kEnd, n + 1).copy_from(ones({n}, dtype, device));
  return matrix;
}

namespace {

void require_floating(const char* operation, DType dtype) {
  if (is_floating(dtype)) return;
  fail(ErrorKind::invalid_argument, operation,
       fmt::format("expected f64, f32, f16 or bf16, got {}; use integers() for integer types",
                   to_string(dtype)));
}

}  // namespace

Tensor Generator::uniform(const Shape& shape, double low, double high, DType dtype, Device device) {
  require_floating("uniform", dtype);
  if (!(low < high)) {
    fail(ErrorKind::invalid_argument, "uniform",
         fmt::format("range [{}, {}) is empty; high must be greater than low", low, high));
  }
  Tensor tensor = Tensor::empty(shape, dtype, device);
  const kernels::RandomKey key = take();
  const StreamView stream = current_stream(device);
  if (tensor.numel() > 0) kernels::uniform(stream, key, low, high, operand(tensor, stream));
  if (dtype != DType::f16 && dtype != DType::bf16) return tensor;
  // About one value in a hundred rounds up to the excluded upper bound.
  const Tensor below = compare(CompareOp::less, tensor.to(DType::f32), Scalar(high));
  return where(below, tensor, full({}, low, dtype, device));
}

Tensor Generator::normal(const Shape& shape, double mean, double deviation, DType dtype,
                         Device device) {
  require_floating("normal", dtype);
  Tensor tensor = Tensor::empty(shape, dtype, device);
  const kernels::RandomKey key = take();
  const StreamView stream = current_stream(device);
  if (tensor.numel() > 0) kernels::normal(stream, key, mean, deviation, operand(tensor, stream));
  return tensor;
}

Tensor Generator::integers(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype,
                           Device device) {
  if (!is_integer(dtype)) {
    fail(ErrorKind::invalid_argument, "integers",
         fmt::format("expected an integer type, got {}", to_string(dtype)));
  }
  if (low >= high) {
    fail(ErrorKind::invalid_argument, "integers",
         fmt::format("range [{}, {}) is empty; high must be greater than low", low, high));
  }
  require_fits("integers", low, dtype);
  require_fits("integers", high - 1, dtype);
  Tensor tensor = Tensor::empty(shape, dtype, device);
  const kernels::RandomKey key = take();
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const StreamView stream = current_stream(device);
  if (tensor.numel() > 0) kernels::integers(stream, key, low, range, operand(tensor, stream));
  return tensor;
}

Tensor Generator::permutation(std::int64_t n, Device device) {
  if (n < 0) {
    fail(ErrorKind::invalid_argument, "permutation",
         fmt::format("n must not be negative, got {}", n));
  }
  // Sorts random 64-bit keys; ties keep their order on every device.
  Tensor keys = Tensor::empty({n}, DType::i64, device);
  const kernels::RandomKey key = take();
  if (n == 0) return keys;
  const StreamView stream = current_stream(device);
  kernels::integers(stream, key, 0, 0, operand(keys, stream));
  return sort(keys).indices;
}

}  // namespace causeway
