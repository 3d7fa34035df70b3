// Selection by index arrays: several are merged into one index of the flattened axes.
#include "python/index_arrays.h"

#include "causeway/autograd/indexing.h"
#include "causeway/autograd/views.h"
#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"
#include "python/bind.h"

#include <algorithm>

namespace causeway::python {

namespace {

// The index as i64 on the device of `x`, with negative entries counted from the end.
Tensor wrapped(const Tensor& x, const IndexArray& array) {
  const Tensor places = array.index.to(x.device());
  if (!is_signed(places.dtype()) || !is_integer(places.dtype())) return places;
  const Tensor wide = places.to(DType::i64);
  const Tensor from_end = wide + Scalar(x.shape()[array.axis]);
  const Tensor counts_back = compare(CompareOp::logical_and, compare(CompareOp::less, wide, 0),
                                     compare(CompareOp::greater_equal, from_end, 0));
  return where(counts_back, from_end, wide);
}

// Out-of-range entries must not become valid ones of another row.
void require_in_range(const Tensor& places, std::int64_t size) {
  const Tensor outside = compare(CompareOp::logical_or, compare(CompareOp::less, places, 0),
                                 compare(CompareOp::greater_equal, places, Scalar(size)));
  if (places.numel() == 0 || any(outside).item_integer() == 0) return;
  fail(ErrorKind::invalid_argument, "index",
       "an index is out of range for an axis of size " + std::to_string(size));
}

// One index of the axes of all arrays, flattened in their order.
Tensor merged(const Tensor& x, const std::vector<IndexArray>& arrays, Shape& shape) {
  std::vector<Tensor> places;
  shape = {};
  for (const IndexArray& array : arrays) {
    places.push_back(wrapped(x, array));
    shape = broadcast("index", shape, places.back().shape());
  }
  if (arrays.size() == 1) return places[0].flatten();
  Tensor index;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::int64_t size = x.shape()[arrays[i].axis];
    const Tensor next = places[i].to(DType::i64);
    require_in_range(next, size);
    index = i == 0 ? next : index * Scalar(size) + next;
  }
  return index.expand(shape).contiguous().flatten();
}

// A permutation that moves the given axes, in this order, to the place `at`.
std::vector<int> moved(int n_dims, const std::vector<int>& axes, int at) {
  std::vector<int> order;
  for (int axis = 0; axis < n_dims; ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  }
  order.insert(order.begin() + at, axes.begin(), axes.end());
  return order;
}

}  // namespace

std::vector<Tensor> nonzero(const Tensor& x) {
  const std::vector<bool> flags = x.to(DType::boolean).to_vector<bool>();
  std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(x.n_dims()));
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (int axis = x.n_dims() - 1; axis >= 0; --axis) {
      columns[static_cast<std::size_t>(axis)].push_back(rest % x.shape()[axis]);
      rest /= x.shape()[axis];
    }
  }
  std::vector<Tensor> tensors;
  for (const auto& column : columns) {
    const std::span<const std::int64_t> values(column);
    tensors.push_back(Tensor::from(values, {static_cast<std::int64_t>(column.size())}, x.device()));
  }
  return tensors;
}

Tensor take_arrays(const Tensor& x, const std::vector<IndexArray>& arrays, bool in_front) {
  return without_gil([&] {
    std::vector<int> axes;
    for (const IndexArray& array : arrays) axes.push_back(array.axis);
    const int at = axes[0];
    const int n_axes = static_cast<int>(axes.size());
    Shape inner;
    const Tensor index = merged(x, arrays, inner);
    Tensor rows = n_axes == 1 ? x : autograd::permute(x, moved(x.n_dims(), axes, at));
    Shape shape;
    for (int axis = 0; axis < rows.n_dims(); ++axis) {
      if (axis > at && axis < at + n_axes) {
        shape[at] *= rows.shape()[axis];
      } else {
        shape.push_back(rows.shape()[axis]);
      }
    }
    if (n_axes > 1) rows = autograd::reshape(rows, shape);
    Tensor taken = autograd::index_select(rows, at, index);
    Shape result;
    for (int axis = 0; axis < taken.n_dims(); ++axis) {
      if (axis != at) result.push_back(taken.shape()[axis]);
    }
    for (int i = 0; i < inner.size(); ++i) result.insert(at + i, inner[i]);
    taken = autograd::reshape(taken, result);
    if (!in_front || at == 0) return taken;
    std::vector<int> order;
    for (int i = 0; i < inner.size(); ++i) order.push_back(at + i);
    return autograd::permute(taken, moved(taken.n_dims(), order, 0));
  });
}

}  // namespace causeway::python
