#include "causeway/lang/types.h"

#include <algorithm>

namespace causeway::lang {

std::string_view name_of(Scalar s) {
  constexpr std::string_view names[] = {"bool",   "int8",    "int16",   "int32",
                                        "int64",  "uint8",   "uint16",  "uint32",
                                        "uint64", "float16", "float32", "float64"};
  return names[static_cast<int>(s)];
}

std::string_view short_name(Scalar s) {
  constexpr std::string_view names[] = {"bool", "i8",  "i16", "i32", "i64", "u8",
                                        "u16",  "u32", "u64", "f16", "f32", "f64"};
  return names[static_cast<int>(s)];
}

TypeTable::TypeTable() {
  types_.reserve(32);
  types_.push_back({});
  for (int i = 0; i < kScalarCount; ++i) {
    Type type;
    type.kind = TypeKind::scalar;
    type.scalar = static_cast<Scalar>(i);
    types_.push_back(type);
  }
}

// Tables hold a dozen types, so that a search from the front is as fast as a hash.
TypeId TypeTable::intern(const Type& type) {
  for (TypeId id = 1 + kScalarCount; id < types_.size(); ++id) {
    if (types_[id] == type) return id;
  }
  types_.push_back(type);
  return static_cast<TypeId>(types_.size() - 1);
}

TypeId TypeTable::vec(int length, Scalar s) {
  Type type;
  type.kind = TypeKind::vec;
  type.scalar = s;
  type.rows = static_cast<std::uint8_t>(length);
  return intern(type);
}

TypeId TypeTable::mat(int rows, int cols, Scalar s) {
  Type type;
  type.kind = TypeKind::mat;
  type.scalar = s;
  type.rows = static_cast<std::uint8_t>(rows);
  type.cols = static_cast<std::uint8_t>(cols);
  return intern(type);
}

TypeId TypeTable::quat(Scalar s) {
  Type type;
  type.kind = TypeKind::quat;
  type.scalar = s;
  type.rows = 4;
  return intern(type);
}

TypeId TypeTable::array(TypeId element, int ndim) {
  Type type;
  type.kind = TypeKind::array;
  type.scalar = types_[element].scalar;
  type.element = element;
  type.ndim = static_cast<std::uint8_t>(ndim);
  return intern(type);
}

TypeId TypeTable::tuple(const std::vector<TypeId>& members) {
  auto found = std::find(tuples_.begin(), tuples_.end(), members);
  Type type;
  type.kind = TypeKind::tuple;
  type.index = static_cast<std::uint32_t>(found - tuples_.begin());
  if (found == tuples_.end()) tuples_.push_back(members);
  return intern(type);
}

TypeId TypeTable::add_struct(std::string_view name, std::vector<Field> fields) {
  Type type;
  type.kind = TypeKind::structure;
  type.index = static_cast<std::uint32_t>(structs_.size());
  structs_.push_back({name, std::move(fields), kNone});
  const TypeId id = intern(type);
  structs_.back().type = id;
  return id;
}

bool TypeTable::is_composite(TypeId id) const {
  const TypeKind kind = types_[id].kind;
  return kind == TypeKind::vec || kind == TypeKind::mat || kind == TypeKind::quat;
}

bool TypeTable::has_float(TypeId id) const {
  const Type& type = types_[id];
  switch (type.kind) {
    case TypeKind::none: return false;
    case TypeKind::array: return has_float(type.element);
    case TypeKind::structure:
      return std::any_of(structs_[type.index].fields.begin(), structs_[type.index].fields.end(),
                         [&](const Field& field) { return has_float(field.type); });
    case TypeKind::tuple:
      return std::any_of(tuples_[type.index].begin(), tuples_[type.index].end(),
                         [&](TypeId member) { return has_float(member); });
    default: return is_float(type.scalar);
  }
}

bool TypeTable::has_array(TypeId id) const {
  if (types_[id].kind == TypeKind::array) return true;
  if (types_[id].kind != TypeKind::structure) return false;
  const auto& fields = structs_[types_[id].index].fields;
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return has_array(field.type); });
}

std::size_t TypeTable::alignment(TypeId id) const {
  const Type& type = types_[id];
  if (type.kind == TypeKind::array) return 8;
  if (type.kind != TypeKind::structure) return size_of(type.scalar);
  std::size_t largest = 1;
  for (const Field& field : structs_[type.index].fields) {
    largest = std::max(largest, alignment(field.type));
  }
  return largest;
}

std::size_t TypeTable::size_bytes(TypeId id) const {
  const Type& type = types_[id];
  if (type.kind == TypeKind::array) return 8;
  if (type.kind != TypeKind::structure) return size_of(type.scalar) * type.rows * type.cols;
  std::size_t size = 0;
  for (const Field& field : structs_[type.index].fields) {
    const std::size_t step = alignment(field.type);
    size = (size + step - 1) / step * step + size_bytes(field.type);
  }
  const std::size_t step = alignment(id);
  return std::max<std::size_t>((size + step - 1) / step * step, 1);
}

void TypeTable::leaves(TypeId id, std::vector<Leaf>& out, std::uint32_t base) const {
  const Type& type = types_[id];
  if (type.kind == TypeKind::array || type.kind == TypeKind::none) return;
  if (type.kind == TypeKind::tuple) {
    for (const TypeId member : tuples_[type.index]) leaves(member, out, 0);
    return;
  }
  if (type.kind == TypeKind::structure) {
    std::uint32_t offset = base;
    for (const Field& field : structs_[type.index].fields) {
      const auto step = static_cast<std::uint32_t>(alignment(field.type));
      offset = (offset - base + step - 1) / step * step + base;
      leaves(field.type, out, offset);
      offset += static_cast<std::uint32_t>(size_bytes(field.type));
    }
    return;
  }
  const auto size = static_cast<std::uint32_t>(size_of(type.scalar));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(type.rows * type.cols); ++i) {
    out.push_back({type.scalar, base + i * size});
  }
}

namespace {

std::string_view suffix_of(Scalar s) {
  constexpr std::string_view names[] = {"bool", "b",  "s",  "i", "l", "ub",
                                        "us",   "ui", "ul", "h", "f", "d"};
  return names[static_cast<int>(s)];
}

}  // namespace

std::string TypeTable::name(TypeId id) const {
  const Type& type = types_[id];
  switch (type.kind) {
    case TypeKind::none: return "None";
    case TypeKind::scalar: return std::string(name_of(type.scalar));
    case TypeKind::vec:
      return "vec" + std::to_string(type.rows) + std::string(suffix_of(type.scalar));
    case TypeKind::mat:
      return "mat" + std::to_string(type.rows) + (type.rows > 9 || type.cols > 9 ? "x" : "") +
             std::to_string(type.cols) + std::string(suffix_of(type.scalar));
    case TypeKind::quat: return "quat" + std::string(suffix_of(type.scalar));
    case TypeKind::structure: return std::string(structs_[type.index].name);
    case TypeKind::array:
      return "array(dtype=" + name(type.element) + ", ndim=" + std::to_string(type.ndim) + ")";
    case TypeKind::tuple: break;
  }
  std::string text = "(";
  for (const TypeId member : tuples_[type.index]) {
    if (text.size() > 1) text += ", ";
    text += name(member);
  }
  return text + ")";
}

std::string TypeTable::ir_name(TypeId id) const {
  const Type& type = types_[id];
  const std::string scalar(short_name(type.scalar));
  switch (type.kind) {
    case TypeKind::none: return "none";
    case TypeKind::scalar: return scalar;
    case TypeKind::vec: return "vec<" + std::to_string(type.rows) + "," + scalar + ">";
    case TypeKind::mat:
      return "mat<" + std::to_string(type.rows) + "," + std::to_string(type.cols) + "," + scalar +
             ">";
    case TypeKind::quat: return "quat<" + scalar + ">";
    case TypeKind::structure: return "$" + std::string(structs_[type.index].name);
    case TypeKind::array:
      return "array<" + ir_name(type.element) + "," + std::to_string(type.ndim) + ">";
    case TypeKind::tuple: break;
  }
  std::string text = "tuple<";
  for (const TypeId member : tuples_[type.index]) {
    if (text.back() != '<') text += ",";
    text += ir_name(member);
  }
  return text + ">";
}

}  // namespace causeway::lang
