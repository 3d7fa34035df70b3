// The DType of a C++ type.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/kernels/half_device.h"

#include <cstdint>
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

}  // namespace causeway
