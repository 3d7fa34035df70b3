// A strided tensor. Copying a Tensor copies the handle; views share memory with what they were
// made from. Work happens on the current stream of the tensor's device.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/shape.h"
#include "causeway/runtime/device.h"
#include "causeway/runtime/pool.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causeway {

namespace autograd {
struct Record;
}

// The memory behind tensors: a pool's buffer, or foreign memory kept alive by `owner`.
struct Storage {
  Buffer buffer;
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  Device device;
  bool read_only = false;
  std::atomic<std::uint64_t> n_writes = 0;  // counted: copies into it, and steps of optimizers
};

class Tensor {
 public:
  // No elements, shape (0,), f32, on the CPU.
  Tensor();

  // Uninitialised, contiguous.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
  // Foreign memory, no copy; `owner` lives as long as any tensor that shares the memory.
  static Tensor wrap(void* data, const Shape& shape, const Strides& strides, DType dtype,
                     Device device, std::shared_ptr<void> owner, bool read_only = false);
  // Copies host values of the tensor's own C++ type, in row-major order.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = Device::cpu());

  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }  // in elements
  DType dtype() const { return dtype_; }
  Device device() const { return storage_->device; }
  int n_dims() const { return shape_.size(); }
  std::int64_t size(int axis) const;  // axis may count from the end
  std::int64_t numel() const { return causeway::numel(shape_); }
  std::size_t n_bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype_); }
  bool is_contiguous() const;

  // The first element. Device memory is for kernels and libraries only.
  std::byte* data() const {
    return storage_->data + offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // What the tape (autograd/tape.h) knows of this tensor: nothing, for what this room's functions
  // make. Copies of the handle share it.
  const std::shared_ptr<autograd::Record>& record() const { return record_; }
  void set_record(std::shared_ptr<autograd::Record> record) { record_ = std::move(record); }

  // Views.
  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  // Python's start:stop:step; step is not 0.
  Tensor slice(int axis, std::int64_t start, std::int64_t stop = kEnd, std::int64_t step = 1) const;
  // One entry of `axis`, which goes away.
  Tensor select(int axis, std::int64_t index) const;
  Tensor transpose(int axis_a = -2, int axis_b = -1) const;
  Tensor permute(std::span<const int> axes) const;
  Tensor expand(const Shape& shape) const;
  Tensor squeeze() const;
  Tensor squeeze(int axis) const;
  Tensor unsqueeze(int axis) const;
  // The same elements in another shape, of which one size may be -1. A view where the strides allow
  // it, else a copy.
  Tensor reshape(const Shape& shape) const;
  Tensor flatten() const { return reshape({-1}); }

  // Copies.
  Tensor contiguous() const;  // itself where it is contiguous
  Tensor clone() const;
  Tensor to(Device device) const;  // itself where it is there
  Tensor to(DType dtype) const;    // itself where it has that type
  // Overwrites the elements with `source`'s, broadcast and converted.
  void copy_from(const Tensor& source) const;

  // The only element, as a double or as an integer; waits for the device.
  double item() const;
  std::int64_t item_integer() const;
  // All elements in row-major order, on the host; T matches dtype().
  template <class T>
  std::vector<T> to_vector() const;

 private:
  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Strides strides_;
  std::int64_t offset_ = 0;
  DType dtype_ = DType::f32;
  std::shared_ptr<autograd::Record> record_;

  Tensor(std::shared_ptr<Storage> storage, const Shape& shape, const Strides& strides,
         std::int64_t offset, DType dtype);
  // A view at `offset` elements from this one's first.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;
};

// NumPy's way of writing it, long tensors shortened; the last line tells dtype and device.
std::string to_string(const Tensor& tensor);

}  // namespace causeway
