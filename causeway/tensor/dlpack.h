// DLPack: exchange of tensors with other libraries without a copy. The structures follow the DLPack
// specification, versions 0.x and 1.x.
#pragma once

#include "causeway/tensor/tensor.h"

#include <cstdint>

namespace causeway::dlpack {

struct DLDevice {
  std::int32_t device_type;  // 1 CPU, 2 CUDA, 3 pinned host memory
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 6 bool
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; may be null for row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t kReadOnly = 1;

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

// The C exchange API (DLPack 1.3) that a producer's Python type offers as
// __dlpack_c_exchange_api__, in a capsule named kExchangeName. Functions return 0, or -1 with a
// Python exception set.
inline constexpr const char* kExchangeName = "dlpack_exchange_api";

struct ExchangeApi {
  DLPackVersion version;
  const ExchangeApi* previous;
  void* allocate;
  int (*from_object)(void* object, DLManagedTensorVersioned** out);  // without synchronisation
  int (*to_object)(DLManagedTensorVersioned* tensor, void** out);  // takes ownership of the tensor
  void* borrow;
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

// Shares the tensor's memory and keeps it alive until the consumer calls the deleter.
DLManagedTensor* export_tensor(const Tensor& tensor);
DLManagedTensorVersioned* export_versioned(const Tensor& tensor);

// Takes ownership of a foreign tensor: its deleter runs when the last tensor that shares the memory
// is destroyed, or before an error is thrown. Its data must be ready on the device's current
// stream.
Tensor import_tensor(DLManagedTensor* foreign);
Tensor import_versioned(DLManagedTensorVersioned* foreign);

DLDevice device_of(const Tensor& tensor);

}  // namespace causeway::dlpack
