#include "causeway/tensor/dlpack.h"

#include "causeway/core/error.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

namespace causeway::dlpack {

namespace {

DLDataType type_of(DType dtype) {
  std::uint8_t code = 0;
  if (dtype == DType::u8 || dtype == DType::u16) code = 1;
  if (is_floating(dtype)) code = 2;
  if (dtype == DType::bf16) code = 4;
  if (dtype == DType::boolean) code = 6;
  return {code, static_cast<std::uint8_t>(size_of(dtype) * 8), 1};
}

std::optional<DType> find_dtype(DLDataType type) {
  for (DType dtype : kAllDTypes) {
    const DLDataType candidate = type_of(dtype);
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes == 1) return dtype;
  }
  return std::nullopt;
}

// Keeps an exported tensor alive: the handle and the arrays that DLTensor points to.
template <class Managed>
struct Exported {
  Managed managed;
  Tensor tensor;
  std::int64_t shape[kMaxDims];
  std::int64_t strides[kMaxDims];
};

template <class Managed>
Exported<Managed>* make_exported(const Tensor& tensor) {
  auto* exported = new Exported<Managed>{{}, tensor, {}, {}};
  exported->tensor.set_record(nullptr);  // only the memory is exported, not the tape
  std::copy(tensor.shape().begin(), tensor.shape().end(), exported->shape);
  std::copy(tensor.strides().begin(), tensor.strides().end(), exported->strides);
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager_ctx);
  };
  exported->managed.dl_tensor = {tensor.data(),
                                 device_of(tensor),
                                 tensor.n_dims(),
                                 type_of(tensor.dtype()),
                                 exported->shape,
                                 exported->strides,
                                 0};
  return exported;
}

Tensor import(const DLTensor& foreign, std::shared_ptr<void> owner, bool read_only) {
  constexpr std::int32_t kCpu = 1;
  constexpr std::int32_t kCuda = 2;
  constexpr std::int32_t kPinned = 3;
  const std::int32_t kind = foreign.device.device_type;
  if (kind != kCpu && kind != kCuda && kind != kPinned) {
    fail(ErrorKind::device, "from_dlpack",
         fmt::format("device type {} is not supported; expected host or CUDA memory", kind));
  }
  const auto dtype = find_dtype(foreign.dtype);
  if (!dtype.has_value()) {
    fail(ErrorKind::invalid_argument, "from_dlpack",
         fmt::format("unsupported dtype: DLPack code {}, {} bits, {} lanes; convert it first",
                     foreign.dtype.code, foreign.dtype.bits, foreign.dtype.lanes));
  }
  if (foreign.ndim < 0 || foreign.ndim > kMaxDims) {
    fail(ErrorKind::invalid_argument, "from_dlpack",
         fmt::format("{} dimensions, but at most {} are supported", foreign.ndim, kMaxDims));
  }
  const auto n_dims = static_cast<std::size_t>(foreign.ndim);
  const Shape shape(std::span<const std::int64_t>(foreign.shape, n_dims));
  const Strides strides = foreign.strides == nullptr
                              ? contiguous_strides(shape)
                              : Strides(std::span<const std::int64_t>(foreign.strides, n_dims));
  const Device device = kind == kCuda
                            ? parse_device(fmt::format("cuda:{}", foreign.device.device_id))
                            : Device::cpu();
  return Tensor::wrap(static_cast<std::byte*>(foreign.data) + foreign.byte_offset, shape, strides,
                      *dtype, device, std::move(owner), read_only);
}

template <class Managed>
std::shared_ptr<void> owner_of(Managed* foreign) {
  return {foreign, [](Managed* self) {
            if (self->deleter != nullptr) self->deleter(self);
          }};
}

}  // namespace

DLDevice device_of(const Tensor& tensor) {
  const Device device = tensor.device();
  return {device.is_cuda() ? 2 : 1, device.index};
}

DLManagedTensor* export_tensor(const Tensor& tensor) {
  return &make_exported<DLManagedTensor>(tensor)->managed;
}

DLManagedTensorVersioned* export_versioned(const Tensor& tensor) {
  DLManagedTensorVersioned* managed = &make_exported<DLManagedTensorVersioned>(tensor)->managed;
  managed->version = {1, 0};
  managed->flags = tensor.storage()->read_only ? kReadOnly : 0;
  return managed;
}

Tensor import_tensor(DLManagedTensor* foreign) {
  return import(foreign->dl_tensor, owner_of(foreign), false);
}

Tensor import_versioned(DLManagedTensorVersioned* foreign) {
  const std::shared_ptr<void> owner = owner_of(foreign);
  if (foreign->version.major != 1) {
    fail(ErrorKind::invalid_argument, "from_dlpack",
         fmt::format("DLPack version {}.{} is not supported; expected 1.x", foreign->version.major,
                     foreign->version.minor));
  }
  return import(foreign->dl_tensor, owner, (foreign->flags & kReadOnly) != 0);
}

}  // namespace causeway::dlpack
