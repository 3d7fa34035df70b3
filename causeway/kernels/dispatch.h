// Dispatch from a DType to a C++ type: calls `body` with a tag of the type.
#pragma once

#include "causeway/core/dtype.h"
#include "causeway/core/error.h"
#include "causeway/kernels/half_device.h"

#include <cstdint>
#include <string>

namespace causeway::kernels {

template <class T>
struct Tag {
  using type = T;
};

template <class Body>
void dispatch_floating(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(Tag<double>());
    case DType::f32: return body(Tag<float>());
    case DType::f16: return body(Tag<f16>());
    case DType::bf16: return body(Tag<bf16>());
    default: break;
  }
  fail(ErrorKind::internal, "dispatch",
       "expected a floating type, got " + std::string(to_string(dtype)));
}

template <class Body>
void dispatch_integer(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::i64: return body(Tag<std::int64_t>());
    case DType::i32: return body(Tag<std::int32_t>());
    case DType::i16: return body(Tag<std::int16_t>());
    case DType::i8: return body(Tag<std::int8_t>());
    case DType::u8: return body(Tag<std::uint8_t>());
    case DType::u16: return body(Tag<std::uint16_t>());
    default: break;
  }
  fail(ErrorKind::internal, "dispatch",
       "expected an integer type, got " + std::string(to_string(dtype)));
}

template <class Body>
void dispatch_number(DType dtype, const Body& body) {
  if (is_floating(dtype)) return dispatch_floating(dtype, body);
  dispatch_integer(dtype, body);
}

template <class Body>
void dispatch_all(DType dtype, const Body& body) {
  if (dtype == DType::boolean) return body(Tag<bool>());
  dispatch_number(dtype, body);
}

// Dispatch by element size only, for kernels that move values.
template <class Body>
void dispatch_size(DType dtype, const Body& body) {
  switch (size_of(dtype)) {
    case 8: return body(Tag<std::uint64_t>());
    case 4: return body(Tag<std::uint32_t>());
    case 2: return body(Tag<std::uint16_t>());
    default: return body(Tag<std::uint8_t>());
  }
}

}  // namespace causeway::kernels
