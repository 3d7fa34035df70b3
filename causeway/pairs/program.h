// A generated program: the text of one Python kernel and the inputs it is made for.
#pragma once

#include "causeway/lang/types.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::pairs {

enum class Category : std::uint8_t {
  arithmetic,
  math,
  vector,
  matrix,
  control_flow,
  atomic,
  memory,
  reduction,
  function,
  launch,
  mixed,
};
inline constexpr int kCategories = 11;
inline constexpr int kLevels = 5;  // of difficulty, from 1

std::string_view name_of(Category category);
// Throws Error with the nearest name.
Category category_of(std::string_view name);

// The type of a value: a scalar, vector (cols 1), matrix or quaternion.
struct ValueType {
  enum class Shape : std::uint8_t { scalar, vector, matrix, quaternion };
  lang::Scalar scalar = lang::Scalar::f32;
  Shape shape = Shape::scalar;
  std::uint8_t rows = 1;
  std::uint8_t cols = 1;

  bool operator==(const ValueType&) const = default;
  int count() const { return rows * cols; }
  bool is_scalar() const { return shape == Shape::scalar; }
};

// A size that a program is written for, such as the number of elements or of columns: kernels work
// for any value from `least` on.
struct SizeSymbol {
  int least = 1;
  int usual_low = 33;  // usual values
  int usual_high = 96;
};

// symbol * factor + offset; a constant where the symbol is negative.
struct Size {
  int symbol = -1;
  int factor = 1;
  int offset = 0;

  int value(const std::vector<int>& sizes) const {
    return symbol < 0 ? offset : sizes[static_cast<std::size_t>(symbol)] * factor + offset;
  }
};

// What a parameter is filled with before a launch.
enum class Fill : std::uint8_t {
  uniform,      // numbers in [low, high]
  integers,     // integers in [low, high]
  indices,      // integers in [0, bound)
  permutation,  // of 0 … n - 1
  size,         // the scalar is the value of `bound`
  constant,     // `low` everywhere
};

struct StructField {
  std::string name;
  ValueType type;
  double low = 0;  // filled with numbers in [low, high]
  double high = 0;
};

struct Parameter {
  std::string name;
  ValueType type;                        // of an element
  std::string structure = {};            // its type's name where it is a struct
  std::vector<StructField> fields = {};  // of the struct
  bool array = false;
  bool written = false;
  std::vector<Size> shape = {};  // of an array
  bool flat = false;             // one dimension of the size of the whole launch
  Fill fill = Fill::uniform;
  double low = 0;
  double high = 0;
  Size bound = {};
};

struct Program {
  std::string source;  // Python, with the import
  std::string kernel;  // the kernel's name
  std::string description;
  Category category = Category::arithmetic;
  int level = 1;
  std::uint64_t seed = 0;
  std::vector<SizeSymbol> symbols;
  std::vector<Size> dims;
  std::vector<Parameter> parameters;  // in the order of the kernel's
};

}  // namespace causeway::pairs
