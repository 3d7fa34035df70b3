// A strided tensor. Copying a Tensor copies the handle; views share memory. Operations run on the
// current stream of the tensor's device.
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

// The memory of tensors: a pool buffer, or foreign memory kept alive by `owner`.
struct Storage {
  Buffer buffer;
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  Device device;
  bool read_only = false;
  std::atomic<std::uint64_t> n_writes = 0;  // counts copies into the memory and optimizer steps
};

class Tensor {
 public:
  // An empty f32 tensor of shape (0,) on the CPU.
  Tensor();

  // Uninitialised, contiguous.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
  // Wraps foreign memory without a copy; `owner` lives as long as any tensor that shares it.
  static Tensor wrap(void* data, const Shape& shape, const Strides& strides, DType dtype,
                     Device device, std::shared_ptr<void> owner, bool read_only = false);
  // Copies host values of the dtype's C++ type, in row-major order.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape, Device device = Device::cpu());

  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }  // in elements
  DType dtype() const { return dtype_; }
  Device device() const { return storage_->device; }
  int n_dims() const { return shape_.size(); }
  std::int64_t size(int axis) const;  // a negative axis counts from the end
  std::int64_t numel() const { return causeway::numel(shape_); }
  std::size_t n_bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype_); }
  bool is_contiguous() const;

  // Address of the first element. Device memory is for kernels and libraries only.
  std::byte* data() const {
    return storage_->data + offset_ * static_cast<std::int64_t>(size_of(dtype_));
  }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // The tensor's record on the tape (autograd/tape.h); null for results of causeway/tensor
  // functions. Copies of the handle share it.
  const std::shared_ptr<autograd::Record>& record() const { return record_; }
  void set_record(std::shared_ptr<autograd::Record> record) { record_ = std::move(record); }

  static constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  // Python's start:stop:step; step must not be 0.
  Tensor slice(int axis, std::int64_t start, std::int64_t stop = kEnd, std::int64_t step = 1) const;
  // Removes `axis` by taking one entry of it.
  Tensor select(int axis, std::int64_t index) const;
  Tensor transpose(int axis_a = -2, int axis_b = -1) const;
  Tensor permute(std::span<const int> axes) const;
  Tensor expand(const Shape& shape) const;
  Tensor squeeze() const;
  Tensor squeeze(int axis) const;
  Tensor unsqueeze(int axis) const;
  // The same elements in another shape; one size may be -1. A view if the strides allow it,
  // otherwise a copy.
  Tensor reshape(const Shape& shape) const;
  Tensor flatten() const { return reshape({-1}); }

  Tensor contiguous() const;  // returns itself if contiguous
  Tensor clone() const;
  Tensor to(Device device) const;  // returns itself if already there
  Tensor to(DType dtype) const;    // returns itself if it has that dtype
  // Overwrites the elements with those of `source`, broadcast and converted.
  void copy_from(const Tensor& source) const;

  // The only element, as a double or as an integer; synchronises with the device.
  double item() const;
  std::int64_t item_integer() const;
  // Copies all elements to the host in row-major order; T must match dtype().
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
  // A view that starts `offset` elements after the first.
  Tensor view(const Shape& shape, const Strides& strides, std::int64_t offset) const;
};

// NumPy's notation; long tensors are summarised. The last line names dtype and device.
std::string to_string(const Tensor& tensor);

}  // namespace causeway
