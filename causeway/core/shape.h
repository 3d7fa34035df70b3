// Shapes and strides: up to eight 64-bit sizes stored inline, and functions on them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace causeway {

inline constexpr int kMaxDims = 8;

// A short list of sizes (or strides, in elements), outermost first.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span(values.begin(), values.size())) {}
  // Throws invalid_argument above kMaxDims entries.
  explicit Dims(std::span<const std::int64_t> values);
  static Dims filled(int size, std::int64_t value);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t back() const { return (*this)[size_ - 1]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }

  void push_back(std::int64_t value);
  void insert(int at, std::int64_t value);
  void erase(int at);

  friend bool operator==(const Dims& a, const Dims& b);

 private:
  std::array<std::int64_t, kMaxDims> values_{};
  int size_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// The number of elements: 1 for no dimensions. Throws invalid_argument on overflow.
std::int64_t numel(const Shape& shape);

// Row-major strides, in elements.
Strides contiguous_strides(const Shape& shape);

// "(2, 3)", "(4,)", "()".
std::string to_string(const Dims& dims);

// NumPy's broadcasting; throws shape_mismatch naming `operation` and both shapes.
Shape broadcast(std::string_view operation, const Shape& a, const Shape& b);

// Maps -n_dims … n_dims-1 to 0 … n_dims-1; throws invalid_argument naming `operation`.
int normalize_axis(std::string_view operation, int axis, int n_dims);

}  // namespace causeway
