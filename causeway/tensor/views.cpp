// The view functions of Tensor.
#include "causeway/core/error.h"
#include "causeway/tensor/tensor.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace causeway {

Tensor Tensor::slice(int axis, std::int64_t start, std::int64_t stop, std::int64_t step) const {
  axis = normalize_axis("slice", axis, n_dims());
  if (step == 0) fail(ErrorKind::invalid_argument, "slice", "step must not be 0");
  const std::int64_t size = shape_[axis];
  // Clamps as Python does: the bounds of a reverse slice are one lower.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto clamped = [&](std::int64_t bound) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  const std::int64_t first = clamped(start);
  // No index denotes the position before the first element; kEnd does in a reverse slice.
  const std::int64_t last = stop == kEnd ? (step > 0 ? size : -1) : clamped(stop);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::uint64_t length = step > 0 ? static_cast<std::uint64_t>(step)
                                        : std::uint64_t{0} - static_cast<std::uint64_t>(step);
  Shape shape = shape_;
  Strides strides = strides_;
  shape[axis] =
      distance > 0
          ? static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / length) + 1
          : 0;
  if (shape[axis] > 1) strides[axis] *= step;  // otherwise a large step might overflow
  return view(shape, strides, shape[axis] > 0 ? first * strides_[axis] : 0);
}

Tensor Tensor::select(int axis, std::int64_t index) const {
  axis = normalize_axis("select", axis, n_dims());
  const std::int64_t size = shape_[axis];
  if (index < -size || index >= size) {
    fail(ErrorKind::invalid_argument, "select",
         fmt::format("index {} is out of range for axis {} of size {} in shape {}", index, axis,
                     size, causeway::to_string(shape_)));
  }
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(axis);
  strides.erase(axis);
  return view(shape, strides, (index < 0 ? index + size : index) * strides_[axis]);
}

Tensor Tensor::transpose(int axis_a, int axis_b) const {
  axis_a = normalize_axis("transpose", axis_a, n_dims());
  axis_b = normalize_axis("transpose", axis_b, n_dims());
  Shape shape = shape_;
  Strides strides = strides_;
  std::swap(shape[axis_a], shape[axis_b]);
  std::swap(strides[axis_a], strides[axis_b]);
  return view(shape, strides, 0);
}

Tensor Tensor::permute(std::span<const int> axes) const {
  Shape shape;
  Strides strides;
  std::array<bool, kMaxDims> seen{};
  const auto refuse = [&] {
    fail(ErrorKind::invalid_argument, "permute",
         fmt::format("axes ({}) are not a permutation of the {} axes of shape {}",
                     fmt::join(axes, ", "), n_dims(), causeway::to_string(shape_)));
  };
  if (static_cast<int>(axes.size()) != n_dims()) refuse();
  for (int axis : axes) {
    const int from = normalize_axis("permute", axis, n_dims());
    if (seen[static_cast<std::size_t>(from)]) refuse();
    seen[static_cast<std::size_t>(from)] = true;
    shape.push_back(shape_[from]);
    strides.push_back(strides_[from]);
  }
  return view(shape, strides, 0);
}

Tensor Tensor::expand(const Shape& shape) const {
  if (shape == shape_) return *this;
  const int added = shape.size() - n_dims();
  Strides strides = Strides::filled(shape.size(), 0);
  bool fits = added >= 0;
  for (int dim = 0; fits && dim < n_dims(); ++dim) {
    if (shape_[dim] == shape[dim + added]) {
      strides[dim + added] = strides_[dim];
    } else {
      fits = shape_[dim] == 1;
    }
  }
  if (!fits) {
    fail(ErrorKind::shape_mismatch, "expand",
         fmt::format("cannot expand shape {} to {}: only dimensions of size 1 can be expanded",
                     causeway::to_string(shape_), causeway::to_string(shape)));
  }
  return view(shape, strides, 0);
}

Tensor Tensor::squeeze() const {
  Tensor result = *this;
  for (int axis = n_dims() - 1; axis >= 0; --axis) {
    if (shape_[axis] == 1) result = result.squeeze(axis);
  }
  return result;
}

Tensor Tensor::squeeze(int axis) const {
  axis = normalize_axis("squeeze", axis, n_dims());
  if (shape_[axis] != 1) {
    fail(ErrorKind::shape_mismatch, "squeeze",
         fmt::format("cannot squeeze axis {} of shape {}: it has size {}, not 1", axis,
                     causeway::to_string(shape_), shape_[axis]));
  }
  return select(axis, 0);
}

Tensor Tensor::unsqueeze(int axis) const {
  axis = normalize_axis("unsqueeze", axis, n_dims() + 1);
  Shape shape = shape_;
  Strides strides = strides_;
  strides.insert(axis, axis < n_dims() ? shape_[axis] * strides_[axis] : 1);
  shape.insert(axis, 1);
  return view(shape, strides, 0);
}

namespace {

// Replaces a size of -1.
Shape complete(const Shape& wanted, const Shape& from) {
  Shape shape = wanted;
  const std::int64_t count = numel(from);
  std::int64_t known = 1;
  int unknown = -1;
  bool valid = true;
  for (int dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == -1 && unknown < 0) {
      unknown = dim;
    } else {
      valid = valid && shape[dim] >= 0 && !__builtin_mul_overflow(known, shape[dim], &known);
    }
  }
  if (unknown >= 0 && known > 0 && count % known == 0) {
    shape[unknown] = count / known;
    known = count;
  }
  if (!valid || known != count || (unknown >= 0 && shape[unknown] < 0)) {
    fail(ErrorKind::shape_mismatch, "reshape",
         fmt::format("cannot reshape shape {} with {} elements to {}", to_string(from), count,
                     to_string(wanted)));
  }
  return shape;
}

// Strides that view `from` in another shape without a copy; returns false if there are none.
bool view_strides(const Shape& from, const Strides& strides, const Shape& shape, Strides& result) {
  Shape old_size;  // dimensions of size > 1
  Strides old_stride;
  for (int dim = 0; dim < from.size(); ++dim) {
    if (from[dim] == 1) continue;
    old_size.push_back(from[dim]);
    old_stride.push_back(strides[dim]);
  }
  result = Strides::filled(shape.size(), 1);
  // Match the smallest groups of old and new dimensions with equal element counts. Within a group
  // the old dimensions must be contiguous relative to each other.
  for (int old_begin = 0, new_begin = 0; old_begin < old_size.size();) {
    int old_end = old_begin + 1;
    int new_end = new_begin + 1;
    std::int64_t old_count = old_size[old_begin];
    std::int64_t new_count = shape[new_begin];
    while (old_count != new_count) {
      if (old_count < new_count) {
        old_count *= old_size[old_end++];
      } else {
        new_count *= shape[new_end++];
      }
    }
    for (int dim = old_begin; dim + 1 < old_end; ++dim) {
      if (old_stride[dim] != old_stride[dim + 1] * old_size[dim + 1]) return false;
    }
    std::int64_t step = old_stride[old_end - 1];
    for (int dim = new_end - 1; dim >= new_begin; --dim) {
      result[dim] = step;
      step *= shape[dim];
    }
    old_begin = old_end;
    new_begin = new_end;
  }
  return true;
}

}  // namespace

Tensor Tensor::reshape(const Shape& wanted) const {
  const Shape shape = complete(wanted, shape_);
  if (is_contiguous()) return view(shape, contiguous_strides(shape), 0);
  Strides strides;
  if (view_strides(shape_, strides_, shape, strides)) return view(shape, strides, 0);
  return clone().reshape(shape);
}

}  // namespace causeway
