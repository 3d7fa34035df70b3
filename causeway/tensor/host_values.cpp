// Copies between tensors and host values of a C++ type, for every dtype.
#include "causeway/core/error.h"
#include "causeway/runtime/transfer.h"
#include "causeway/tensor/dtype_of.h"
#include "causeway/tensor/tensor.h"

#include <cstring>

namespace causeway {

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape, Device device) {
  if (static_cast<std::int64_t>(values.size()) != causeway::numel(shape)) {
    fail(ErrorKind::shape_mismatch, "from",
         std::to_string(values.size()) + " values given for shape " + causeway::to_string(shape));
  }
  Tensor tensor = empty(shape, dtype_of<T>(), device);
  transfer(tensor.data(), device, values.data(), Device::cpu(), values.size_bytes(),
           current_stream(device));
  return tensor;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  if (dtype_ != dtype_of<T>()) {
    fail(ErrorKind::invalid_argument, "to_vector",
         "the tensor's dtype is " + std::string(causeway::to_string(dtype_)) + ", not " +
             std::string(causeway::to_string(dtype_of<T>())));
  }
  const Tensor host = to(Device::cpu()).contiguous();
  std::vector<T> values(static_cast<std::size_t>(numel()));
  if constexpr (std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = host.data_as<bool>()[i];
  } else if (!values.empty()) {
    std::memcpy(values.data(), host.data(), n_bytes());
  }
  return values;
}

#define CAUSEWAY_HOST_VALUES(T)                                              \
  template Tensor Tensor::from<T>(std::span<const T>, const Shape&, Device); \
  template std::vector<T> Tensor::to_vector<T>() const;

CAUSEWAY_HOST_VALUES(double)
CAUSEWAY_HOST_VALUES(float)
CAUSEWAY_HOST_VALUES(f16)
CAUSEWAY_HOST_VALUES(bf16)
CAUSEWAY_HOST_VALUES(std::int64_t)
CAUSEWAY_HOST_VALUES(std::int32_t)
CAUSEWAY_HOST_VALUES(std::int16_t)
CAUSEWAY_HOST_VALUES(std::int8_t)
CAUSEWAY_HOST_VALUES(std::uint8_t)
CAUSEWAY_HOST_VALUES(std::uint16_t)
CAUSEWAY_HOST_VALUES(bool)

}  // namespace causeway
