// Copies between tensors and host values of a known C++ type; included by tensor.h.
#pragma once

#include "causeway/core/error.h"
#include "causeway/kernels/half_device.h"
#include "causeway/runtime/transfer.h"
#include "causeway/tensor/tensor.h"

#include <cstring>
#include <type_traits>

namespace causeway {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, f16>) return DType::f16;
  if constexpr (std::is_same_v<T, bf16>) return DType::bf16;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::u16;
  return DType::boolean;
}

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

}  // namespace causeway
