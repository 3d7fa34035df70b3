#include "causeway/core/dtype.h"

#include "causeway/core/error.h"

#include <string>
#include <utility>

namespace causeway {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f64: return "f64";
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::i64: return "i64";
    case DType::i32: return "i32";
    case DType::i16: return "i16";
    case DType::i8: return "i8";
    case DType::u8: return "u8";
    case DType::u16: return "u16";
    case DType::boolean: return "bool";
  }
  return "unknown";
}

DType parse_dtype(std::string_view name) {
  static constexpr std::pair<std::string_view, DType> kLongNames[] = {
      {"float64", DType::f64},   {"double", DType::f64},  {"float32", DType::f32},
      {"float", DType::f32},     {"float16", DType::f16}, {"half", DType::f16},
      {"bfloat16", DType::bf16}, {"int64", DType::i64},   {"int", DType::i64},
      {"int32", DType::i32},     {"int16", DType::i16},   {"int8", DType::i8},
      {"uint8", DType::u8},      {"uint16", DType::u16},  {"boolean", DType::boolean},
  };
  for (DType dtype : kAllDTypes) {
    if (to_string(dtype) == name) return dtype;
  }
  for (const auto& [long_name, dtype] : kLongNames) {
    if (long_name == name) return dtype;
  }
  fail(ErrorKind::invalid_argument, "dtype",
       "unknown element type \"" + std::string(name) +
           "\"; expected one of f64 f32 f16 bf16 i64 i32 i16 i8 u8 u16 bool");
}

namespace {

// Both are integers or bool.
DType promote_integers(DType a, DType b) {
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_signed(a) == is_signed(b)) return size_of(a) >= size_of(b) ? a : b;
  const DType wide_signed = is_signed(a) ? a : b;
  const DType narrow_unsigned = is_signed(a) ? b : a;
  if (size_of(wide_signed) > size_of(narrow_unsigned)) return wide_signed;
  return narrow_unsigned == DType::u8 ? DType::i16 : DType::i32;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (!is_floating(a) && !is_floating(b)) return promote_integers(a, b);
  if (!is_floating(a)) return b;
  if (!is_floating(b)) return a;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  return DType::f32;  // f32 with a half type, or the two half types with each other
}

}  // namespace causeway
