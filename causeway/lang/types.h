// The types of the kernel language: scalars, vectors, matrices, quaternions, structs and arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace causeway::lang {

enum class Scalar : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64 };
inline constexpr int kScalarCount = 12;

constexpr bool is_float(Scalar s) { return s >= Scalar::f16; }
constexpr bool is_int(Scalar s) { return s >= Scalar::i8 && s <= Scalar::u64; }
constexpr bool is_unsigned(Scalar s) { return s >= Scalar::u8 && s <= Scalar::u64; }
constexpr std::size_t size_of(Scalar s) {
  constexpr std::size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
  return sizes[static_cast<int>(s)];
}
// "bool", "int32", "float64", …: the names of the language.
std::string_view name_of(Scalar s);
// "bool", "i32", "f64", …: the names in IR text.
std::string_view short_name(Scalar s);

enum class TypeKind : std::uint8_t { none, scalar, vec, mat, quat, structure, array, tuple };

// An index into a TypeTable. Scalars have the same index in every table.
using TypeId = std::uint32_t;
inline constexpr TypeId kNone = 0;
constexpr TypeId scalar_type(Scalar s) { return 1 + static_cast<TypeId>(s); }
inline constexpr TypeId kBool = scalar_type(Scalar::boolean);
inline constexpr TypeId kI32 = scalar_type(Scalar::i32);
inline constexpr TypeId kU32 = scalar_type(Scalar::u32);
inline constexpr TypeId kF32 = scalar_type(Scalar::f32);
inline constexpr TypeId kF64 = scalar_type(Scalar::f64);

struct Type {
  TypeKind kind = TypeKind::none;
  Scalar scalar = Scalar::f32;  // of scalars, vectors, matrices and quaternions
  std::uint8_t rows = 1;        // length of a vector
  std::uint8_t cols = 1;
  std::uint8_t ndim = 0;    // of an array
  TypeId element = kNone;   // of an array
  std::uint32_t index = 0;  // of a struct or a tuple: which one

  bool operator==(const Type&) const = default;
};

struct Field {
  std::string_view name;
  TypeId type = kNone;
};

struct StructInfo {
  std::string_view name;
  std::vector<Field> fields;
  TypeId type = kNone;
};

// One scalar of a value and its offset in memory.
struct Leaf {
  Scalar scalar;
  std::uint32_t offset;
};

inline constexpr int kMaxVectorLength = 64;  // and rows or columns of a matrix
inline constexpr int kMaxArrayDims = 4;

class TypeTable {
 public:
  TypeTable();

  const Type& operator[](TypeId id) const { return types_[id]; }
  std::size_t size() const { return types_.size(); }

  TypeId vec(int length, Scalar s);
  TypeId mat(int rows, int cols, Scalar s);
  TypeId quat(Scalar s);
  TypeId array(TypeId element, int ndim);
  TypeId tuple(const std::vector<TypeId>& members);
  TypeId add_struct(std::string_view name, std::vector<Field> fields);

  const StructInfo& structure(TypeId id) const { return structs_[types_[id].index]; }
  const std::vector<TypeId>& members(TypeId tuple) const { return tuples_[types_[tuple].index]; }
  const std::vector<StructInfo>& structures() const { return structs_; }

  bool is(TypeId id, TypeKind kind) const { return types_[id].kind == kind; }
  bool is_scalar(TypeId id) const { return is(id, TypeKind::scalar); }
  bool is_float_scalar(TypeId id) const { return is_scalar(id) && is_float(types_[id].scalar); }
  bool is_int_scalar(TypeId id) const { return is_scalar(id) && is_int(types_[id].scalar); }
  // A vector, matrix or quaternion: values made of equal scalars.
  bool is_composite(TypeId id) const;
  // Carries gradients: some scalar of it floats. Arrays are judged by their elements.
  bool has_float(TypeId id) const;
  // A struct with an array member, at any depth.
  bool has_array(TypeId id) const;
  // Scalars of a vector, matrix or quaternion.
  int count(TypeId id) const { return types_[id].rows * types_[id].cols; }

  // C layout of a value in memory.
  std::size_t size_bytes(TypeId id) const;
  std::size_t alignment(TypeId id) const;
  // All scalars of a value in order; an array inside is not a leaf.
  void leaves(TypeId id, std::vector<Leaf>& out, std::uint32_t base = 0) const;

  // "vec3f", "mat22d", "array(dtype=float32, ndim=2)": as a message names it.
  std::string name(TypeId id) const;
  // "vec<3,f32>", "array<f32,2>", "struct Particle": as IR text names it.
  std::string ir_name(TypeId id) const;

 private:
  TypeId intern(const Type& type);

  std::vector<Type> types_;
  std::vector<StructInfo> structs_;
  std::vector<std::vector<TypeId>> tuples_;
};

}  // namespace causeway::lang
