#include "causeway/tensor/indexing.h"

#include "causeway/core/error.h"
#include "causeway/kernels/indexing/indexing.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

namespace causeway {

Tensor concatenate(std::span<const Tensor> tensors, int axis) {
  if (tensors.empty()) {
    fail(ErrorKind::invalid_argument, "concatenate", "expected at least one tensor");
  }
  const Tensor& first = tensors[0];
  axis = normalize_axis("concatenate", axis, first.n_dims());
  Shape shape = first.shape();
  shape[axis] = 0;
  DType dtype = first.dtype();
  for (const Tensor& tensor : tensors) {
    require_same_device("concatenate", first, tensor);
    Shape others = tensor.shape();
    const std::int64_t length = axis < others.size() ? others[axis] : 0;
    if (axis < others.size()) others[axis] = shape[axis];
    if (others != shape) {
      fail(ErrorKind::shape_mismatch, "concatenate",
           fmt::format("shapes {} and {} differ outside axis {}", to_string(first.shape()),
                       to_string(tensor.shape()), axis));
    }
    shape[axis] += length;
    dtype = promote(dtype, tensor.dtype());
  }
  Tensor out = Tensor::empty(shape, dtype, first.device());
  std::int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    const std::int64_t stop = start + tensor.shape()[axis];
    out.slice(axis, start, stop).copy_from(tensor);
    start = stop;
  }
  return out;
}

Tensor stack(std::span<const Tensor> tensors, int axis) {
  std::vector<Tensor> raised;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() != tensors[0].shape()) {
      fail(ErrorKind::shape_mismatch, "stack",
           fmt::format("shapes {} and {} differ", to_string(tensors[0].shape()),
                       to_string(tensor.shape())));
    }
    raised.push_back(tensor.unsqueeze(axis));
  }
  if (raised.empty()) fail(ErrorKind::invalid_argument, "stack", "expected at least one tensor");
  return concatenate(raised, normalize_axis("stack", axis, raised[0].n_dims()));
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
  axis = normalize_axis("split", axis, x.n_dims());
  if (size < 1) {
    fail(ErrorKind::invalid_argument, "split",
         fmt::format("part size must be positive, got {}", size));
  }
  std::vector<Tensor> parts;
  for (std::int64_t start = 0; start < x.shape()[axis]; start += size) {
    parts.push_back(x.slice(axis, start, std::min(start + size, x.shape()[axis])));
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> sizes, int axis) {
  axis = normalize_axis("split", axis, x.n_dims());
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  bool valid = true;
  for (std::int64_t size : sizes) {
    valid = valid && size >= 0;
    parts.push_back(x.slice(axis, start, start + size));
    start += size;
  }
  if (!valid || start != x.shape()[axis]) {
    fail(ErrorKind::shape_mismatch, "split",
         fmt::format("the sizes add up to {}, but axis {} of shape {} has {}", start, axis,
                     to_string(x.shape()), x.shape()[axis]));
  }
  return parts;
}

Tensor pad(const Tensor& x, std::span<const std::pair<std::int64_t, std::int64_t>> widths,
           Scalar value) {
  Shape shape = x.shape();
  bool valid = static_cast<int>(widths.size()) == x.n_dims();
  for (int axis = 0; valid && axis < x.n_dims(); ++axis) {
    const auto [before, behind] = widths[static_cast<std::size_t>(axis)];
    valid = before >= 0 && behind >= 0;
    shape[axis] += before + behind;
  }
  if (!valid) {
    fail(ErrorKind::invalid_argument, "pad",
         fmt::format("expected one pair of non-negative widths for each of the {} axes of shape {}",
                     x.n_dims(), to_string(x.shape())));
  }
  Tensor out = full(shape, value, x.dtype(), x.device());
  Tensor middle = out;
  for (int axis = 0; axis < x.n_dims(); ++axis) {
    const std::int64_t before = widths[static_cast<std::size_t>(axis)].first;
    middle = middle.slice(axis, before, before + x.shape()[axis]);
  }
  middle.copy_from(x);
  return out;
}

namespace {

Tensor require_index(std::string_view operation, const Tensor& x, const Tensor& index) {
  require_same_device(operation, x, index);
  if (!is_integer(index.dtype())) {
    fail(ErrorKind::invalid_argument, operation,
         fmt::format("index is {}; expected an integer dtype", to_string(index.dtype())));
  }
  return index.to(DType::i64).contiguous();
}

// Checks that `index` has the shape of `x` except along the axis.
void require_aligned(std::string_view operation, const Tensor& x, int axis, const Tensor& index) {
  Shape wanted = x.shape();
  if (index.n_dims() == x.n_dims()) wanted[axis] = index.shape()[axis];
  if (index.shape() == wanted) return;
  fail(ErrorKind::shape_mismatch, operation,
       fmt::format("index has shape {}; expected the tensor's {} except along axis {}",
                   to_string(index.shape()), to_string(x.shape()), axis));
}

}  // namespace

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  axis = normalize_axis("index_select", axis, x.n_dims());
  if (index.n_dims() != 1) {
    fail(ErrorKind::shape_mismatch, "index_select",
         fmt::format("index has shape {}; expected one dimension", to_string(index.shape())));
  }
  const Tensor places = require_index("index_select", x, index);
  const Tensor dense = x.contiguous();
  Shape shape = x.shape();
  shape[axis] = index.numel();
  Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::index_select(stream, operand(dense, stream), operand(places, stream),
                          operand(out, stream), cube_around(dense, axis), index.numel(), axis);
  }
  return out;
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  axis = normalize_axis("gather", axis, x.n_dims());
  require_aligned("gather", x, axis, index);
  const Tensor places = require_index("gather", x, index);
  const Tensor dense = x.contiguous();
  Tensor out = Tensor::empty(index.shape(), x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  if (out.numel() > 0) {
    kernels::gather(stream, operand(dense, stream), operand(places, stream), operand(out, stream),
                    cube_around(dense, axis), index.shape()[axis], axis);
  }
  return out;
}

namespace {

template <class Write>
Tensor write_at(std::string_view operation, const Write& write, const Tensor& x, int axis,
                const Tensor& index, const Tensor& source) {
  axis = normalize_axis(operation, axis, x.n_dims());
  require_same_device(operation, x, source);
  require_aligned(operation, x, axis, index);
  const Tensor places = require_index(operation, x, index);
  if (broadcast(operation, source.shape(), index.shape()) != index.shape()) {
    fail(ErrorKind::shape_mismatch, operation,
         fmt::format("source has shape {} but index has shape {}; they must be equal",
                     to_string(source.shape()), to_string(index.shape())));
  }
  const Tensor values = source.to(x.dtype()).expand(index.shape()).contiguous();
  Tensor out = x.clone();
  const StreamView stream = current_stream(x.device());
  if (index.numel() > 0) {
    write(stream, operand(values, stream), operand(places, stream), operand(out, stream),
          cube_around(out, axis), index.shape()[axis], axis);
  }
  return out;
}

}  // namespace

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  return write_at("scatter", kernels::scatter, x, axis, index, source);
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
  return write_at("scatter_add", kernels::scatter_add, x, axis, index, source);
}

}  // namespace causeway
