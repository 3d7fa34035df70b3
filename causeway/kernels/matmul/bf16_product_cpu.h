// Products of f32 matrices on the CPU whose elements are rounded to bf16 when they are packed, with
// sums in f32, by the CPU's bf16 matrix instructions. Each sum has one order: the bits are equal
// however rows are distributed over threads or calls.
#pragma once

#include "causeway/kernels/matmul/product_cpu.h"

#include <cstdint>

namespace causeway::kernels::cpu {

using Bf16Bits = std::uint16_t;

// The inner size of packed operands, which are padded with zeros.
constexpr std::int64_t whole_groups(std::int64_t inner) { return (inner + 3) / 4 * 4; }

// Elements of a packed operand: `count` rows of the left or columns of the right.
constexpr std::int64_t packed_size(std::int64_t count, std::int64_t inner) {
  return whole_panels(count) * whole_groups(inner);
}

struct Bf16Kernels {
  // Packs `count` rows or columns of `inner` elements. pack_rows: the elements of each are adjacent
  // and `leading` is the distance between rows. pack_columns: the same element of all is adjacent
  // and `leading` is the distance between elements. Panel p begins at packed_size(8 p, inner).
  void (*pack_rows)(const float* from, std::int64_t leading, std::int64_t count, std::int64_t inner,
                    Bf16Bits* to);
  void (*pack_columns)(const float* from, std::int64_t leading, std::int64_t count,
                       std::int64_t inner, Bf16Bits* to);
  // For softmax: packs 2^(x - largest[row]) of `count` rows like pack_rows, after raising
  // largest[row] to the row's maximum; sums[row] receives the sum before rounding. Rows are
  // readable up to whole_groups(inner). If a row has NaN, its maximum is NaN.
  void (*pack_powers)(const float* from, std::int64_t leading, std::int64_t count,
                      std::int64_t inner, float* largest, float* sums, Bf16Bits* to);
  void (*multiply)(const Product& product, const Bf16Bits* left, const Bf16Bits* right, float* out);
};

// The kernels of this CPU; null if it lacks the instructions.
const Bf16Kernels* bf16_kernels();

// While it is alive, linear layers and attention of f32 tensors that this thread runs on the CPU
// use bf16_kernels(), if there are any and `on`. For inference: gradients would be rounded too.
class Bf16Products {
 public:
  explicit Bf16Products(bool on);
  ~Bf16Products();
  Bf16Products(const Bf16Products&) = delete;
  Bf16Products& operator=(const Bf16Products&) = delete;

  // The kernels to use in this thread, or null.
  static const Bf16Kernels* kernels();

 private:
  bool before_;
};

}  // namespace causeway::kernels::cpu
