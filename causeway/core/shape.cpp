#include "causeway/core/shape.h"

#include "causeway/core/error.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace causeway {

Dims::Dims(std::span<const std::int64_t> values) {
  if (values.size() > kMaxDims) {
    fail(ErrorKind::invalid_argument, "shape",
         fmt::format("got {} dimensions; at most {} are supported", values.size(), kMaxDims));
  }
  std::copy(values.begin(), values.end(), values_.begin());
  size_ = static_cast<int>(values.size());
}

Dims Dims::filled(int size, std::int64_t value) {
  Dims dims;
  for (int i = 0; i < size; ++i) dims.push_back(value);
  return dims;
}

void Dims::push_back(std::int64_t value) { insert(size_, value); }

void Dims::insert(int at, std::int64_t value) {
  if (size_ == kMaxDims) {
    fail(ErrorKind::invalid_argument, "shape",
         fmt::format("more than {} dimensions are not supported", kMaxDims));
  }
  std::copy_backward(values_.begin() + at, values_.begin() + size_, values_.begin() + size_ + 1);
  (*this)[at] = value;
  ++size_;
}

void Dims::erase(int at) {
  std::copy(values_.begin() + at + 1, values_.begin() + size_, values_.begin() + at);
  --size_;
}

bool operator==(const Dims& a, const Dims& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::int64_t numel(const Shape& shape) {
  std::int64_t count = 1;
  bool overflow = false;
  for (std::int64_t size : shape) {
    if (size < 0) {
      fail(ErrorKind::invalid_argument, "shape",
           fmt::format("{} has a negative size", to_string(shape)));
    }
    if (size == 0) return 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  if (overflow) {
    fail(ErrorKind::invalid_argument, "shape",
         fmt::format("{} has more elements than fit in 63 bits", to_string(shape)));
  }
  return count;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::string to_string(const Dims& dims) {
  if (dims.size() == 1) return fmt::format("({},)", dims[0]);
  return fmt::format("({})", fmt::join(dims.begin(), dims.end(), ", "));
}

Shape broadcast(std::string_view operation, const Shape& a, const Shape& b) {
  Shape out = Shape::filled(std::max(a.size(), b.size()), 1);
  for (int i = 0; i < out.size(); ++i) {  // from the last dimension to the first
    const std::int64_t size_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t size_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      fail(ErrorKind::shape_mismatch, operation,
           fmt::format(
               "shapes {} and {} do not broadcast: sizes {} and {} are aligned, counting from the "
               "last dimension; they must be equal or one of them 1",
               to_string(a), to_string(b), size_a, size_b));
    }
    out[out.size() - 1 - i] = size_a == 1 ? size_b : size_a;
  }
  return out;
}

int normalize_axis(std::string_view operation, int axis, int n_dims) {
  if (axis < -n_dims || axis >= n_dims) {
    fail(ErrorKind::invalid_argument, operation,
         n_dims == 0 ? fmt::format("axis {} is out of range for a tensor without dimensions", axis)
                     : fmt::format("axis {} is out of range for {} dimensions; expected {} to {}",
                                   axis, n_dims, -n_dims, n_dims - 1));
  }
  return axis < 0 ? axis + n_dims : axis;
}

}  // namespace causeway
