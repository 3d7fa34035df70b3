#include "causeway/tensor/tensor.h"

#include "causeway/core/error.h"
#include "causeway/runtime/transfer.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/tensor/operand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace causeway {

Tensor::Tensor(std::shared_ptr<Storage> storage, const Shape& shape, const Strides& strides,
               std::int64_t offset, DType dtype)
    : storage_(std::move(storage)),
      shape_(shape),
      strides_(strides),
      offset_(offset),
      dtype_(dtype) {}

Tensor::Tensor() : Tensor(empty({0})) {}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(causeway::numel(shape)), size_of(dtype),
                             &bytes)) {
    fail(ErrorKind::invalid_argument, "empty",
         fmt::format("the size of {} of {} overflows 64 bits", causeway::to_string(shape),
                     causeway::to_string(dtype)));
  }
  auto storage = std::make_shared<Storage>();
  storage->device = device;
  storage->buffer = pool_of(device).allocate(bytes, current_stream(device));
  storage->data = storage->buffer.data();
  return {std::move(storage), shape, contiguous_strides(shape), 0, dtype};
}

Tensor Tensor::wrap(void* data, const Shape& shape, const Strides& strides, DType dtype,
                    Device device, std::shared_ptr<void> owner, bool read_only) {
  auto storage = std::make_shared<Storage>();
  storage->owner = std::move(owner);
  storage->data = static_cast<std::byte*>(data);
  storage->device = device;
  storage->read_only = read_only;
  return {std::move(storage), shape, strides, 0, dtype};
}

std::int64_t Tensor::size(int axis) const { return shape_[normalize_axis("size", axis, n_dims())]; }

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;
  bool dense = true;
  for (int dim = n_dims() - 1; dim >= 0; --dim) {
    if (shape_[dim] == 0) return true;
    dense = dense && (shape_[dim] == 1 || strides_[dim] == step);
    step *= shape_[dim];
  }
  return dense;
}

Tensor Tensor::view(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  return {storage_, shape, strides, offset_ + offset, dtype_};
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor copy = empty(shape_, dtype_, device());
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(Device target) const {
  if (target == device()) return *this;
  const Tensor dense = contiguous();
  Tensor moved = empty(shape_, dtype_, target);
  if (numel() == 0) return moved;
  // The copy runs on the device's stream. Between two GPUs it waits for the source's stream.
  const StreamView source_stream = current_stream(device());
  const StreamView stream = target.is_cuda() ? current_stream(target) : source_stream;
  if (device().is_cuda() && target.is_cuda()) stream.wait(source_stream);
  dense.storage_->buffer.used_on(stream);
  transfer(moved.data(), target, dense.data(), device(), n_bytes(), stream);
  return moved;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  const Tensor dense = contiguous();
  Tensor converted = empty(shape_, dtype, device());
  if (numel() == 0) return converted;
  const StreamView stream = current_stream(device());
  kernels::cast(stream, operand(dense, stream), operand(converted, stream));
  return converted;
}

namespace {

// Whether two non-empty tensors on one device may share elements. Compares addresses, since foreign
// memory may be wrapped more than once.
bool overlap(const Tensor& a, const Tensor& b) {
  const auto reach = [](const Tensor& x) {
    std::int64_t low = 0, high = 1;
    for (int dim = 0; dim < x.n_dims(); ++dim) {
      const std::int64_t span = (x.shape()[dim] - 1) * x.strides()[dim];
      (span < 0 ? low : high) += span;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(x.data());
    const auto bytes = static_cast<std::int64_t>(size_of(x.dtype()));
    return std::pair(begin + static_cast<std::uintptr_t>(low * bytes),
                     begin + static_cast<std::uintptr_t>(high * bytes));
  };
  const auto [a_begin, a_end] = reach(a);
  const auto [b_begin, b_end] = reach(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace

void Tensor::copy_from(const Tensor& source) const {
  if (storage_->read_only) {
    fail(ErrorKind::invalid_argument, "copy_from",
         "the tensor's memory is read-only; clone() it first");
  }
  Tensor typed = source.to(dtype_).to(device()).expand(shape_);
  if (numel() == 0) return;
  // Overlapping views: copy via a temporary, so that no element is read after it was overwritten.
  const bool same = typed.data() == data() && typed.strides_ == strides_;
  if (!same && overlap(typed, *this)) typed = typed.clone();
  const StreamView stream = current_stream(device());
  kernels::copy(stream, operand(typed, stream), operand(*this, stream));
  ++storage_->n_writes;
}

namespace {

Tensor single(const Tensor& tensor, DType dtype) {
  if (tensor.numel() != 1) {
    fail(ErrorKind::shape_mismatch, "item",
         fmt::format("shape {} has {} elements; item() requires exactly one",
                     to_string(tensor.shape()), tensor.numel()));
  }
  return tensor.to(dtype).to(Device::cpu());
}

}  // namespace

double Tensor::item() const { return *single(*this, DType::f64).data_as<double>(); }

std::int64_t Tensor::item_integer() const {
  return *single(*this, DType::i64).data_as<std::int64_t>();
}

kernels::Operand operand(const Tensor& tensor, StreamView stream) {
  tensor.storage()->buffer.used_on(stream);
  return {tensor.data(), tensor.dtype(), tensor.shape(), tensor.strides(), false};
}

kernels::Cube cube_around(const Tensor& tensor, int axis) {
  kernels::Cube cube;
  for (int dim = 0; dim < tensor.n_dims(); ++dim) {
    std::int64_t& side = dim < axis ? cube.outer : (dim == axis ? cube.axis : cube.inner);
    side *= tensor.shape()[dim];
  }
  return cube;
}

void require_same_device(std::string_view operation, const Tensor& a, const Tensor& b) {
  if (a.device() == b.device()) return;
  fail(ErrorKind::device, operation,
       fmt::format("the tensors are on {} and {}; move one of them with .to(\"{}\")",
                   to_string(a.device()), to_string(b.device()), to_string(a.device())));
}

void require_fits(std::string_view operation, kernels::Scalar value, DType dtype) {
  if (kernels::fits(value, dtype)) return;
  const kernels::IntegerRange range = kernels::range_of(dtype);
  const std::string number =
      value.is_integer ? fmt::format("{}", value.integer) : fmt::format("{}", value.real);
  fail(ErrorKind::invalid_argument, operation,
       fmt::format(
           "{} is out of range for {} ({} to {}); use a wider type, for example .to(\"i64\")",
           number, to_string(dtype), range.low, range.high));
}

std::vector<int> normalize_axes(std::string_view operation, const std::vector<int>& axes,
                                int n_dims) {
  std::vector<int> sorted;
  for (int axis : axes) sorted.push_back(normalize_axis(operation, axis, n_dims));
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    fail(ErrorKind::invalid_argument, operation, "duplicate axis");
  }
  if (axes.empty()) {
    for (int axis = 0; axis < n_dims; ++axis) sorted.push_back(axis);
  }
  return sorted;
}

}  // namespace causeway
