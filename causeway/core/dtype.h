// Element types: size, name, category and type promotion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace causeway {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, u16, boolean };

inline constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::f16,    DType::bf16,
                                       DType::i64, DType::i32, DType::i16,    DType::i8,
                                       DType::u8,  DType::u16, DType::boolean};

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    default: return 1;
  }
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::bf16; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::i64 && dtype <= DType::u16; }
constexpr bool is_signed(DType dtype) { return dtype <= DType::i8; }

// "f32", "bf16", "bool", …
std::string_view to_string(DType dtype);

// Reads "f32", "float32", "bfloat16", "int64", "bool", …; throws invalid_argument otherwise.
DType parse_dtype(std::string_view name);

// The type that two operands are promoted to: the smallest type that holds both ranges, a floating
// type if either side is floating (f16 with bf16 gives f32).
DType promote(DType a, DType b);

// The type in which true division and transcendental functions compute: f32 for integers and bool.
constexpr DType to_floating(DType dtype) { return is_floating(dtype) ? dtype : DType::f32; }

}  // namespace causeway
