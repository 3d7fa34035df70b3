// Products of f32 matrices on the CPU whose elements are rounded to bf16 when they are packed, with
// sums in f32, by the CPU's bf16 instructions. Each sum has one order: the bits are equal however
// rows are distributed over threads or calls.
#pragma once

#include "causeway/kernels/matmul/product_cpu.h"

#include <cstdint>
#include <span>

namespace causeway::kernels::cpu {

using Bf16Bits = std::uint16_t;

// A *line* is a row of the left or a column of the right. Packed operands consist of panels of
// kBf16Lines lines, and those of groups of kBf16Group inner elements, padded with zeros.
#if defined(__aarch64__)
inline constexpr std::int64_t kBf16Lines = 8;
inline constexpr std::int64_t kBf16Group = 4;
#else
inline constexpr std::int64_t kBf16Lines = 16;
inline constexpr std::int64_t kBf16Group = 32;
#endif

constexpr std::int64_t whole_lines(std::int64_t count) {
  return (count + kBf16Lines - 1) / kBf16Lines * kBf16Lines;
}
constexpr std::int64_t whole_groups(std::int64_t inner) {
  return (inner + kBf16Group - 1) / kBf16Group * kBf16Group;
}

// Elements of a packed operand of `count` lines. Panel p begins at packed_size(p * kBf16Lines,
// inner).
constexpr std::int64_t packed_size(std::int64_t count, std::int64_t inner) {
  return whole_lines(count) * whole_groups(inner);
}

struct Bf16Kernels {
  // Packs `count` lines of `inner` elements.
  using Pack = void (*)(const float* from, std::int64_t leading, std::int64_t count,
                        std::int64_t inner, Bf16Bits* to);
  const char* name;
  // The elements of a line are adjacent, and `leading` is the distance between lines.
  Pack pack_left;
  Pack pack_right;
  // The same element of all lines is adjacent, and `leading` is the distance between elements.
  Pack pack_right_across;
  // For softmax: packs 2^(x - largest[row]) of `count` rows like pack_left, after raising
  // largest[row] to the row's maximum; sums[row] receives the sum before rounding. Rows are
  // readable up to whole_groups(inner). If a row has NaN, its maximum is NaN.
  void (*pack_powers)(const float* from, std::int64_t leading, std::int64_t count,
                      std::int64_t inner, float* largest, float* sums, Bf16Bits* to);
  void (*multiply)(const Product& product, const Bf16Bits* left, const Bf16Bits* right, float* out);
};

// The kernels that this machine can run, the fastest first; none if it lacks the instructions.
std::span<const Bf16Kernels> bf16_paths();

// While it is alive, linear layers and attention of f32 tensors that this thread runs on the CPU
// use bf16 kernels, if there are any and `on`. For inference: gradients would be rounded too.
class Bf16Products {
 public:
  explicit Bf16Products(bool on);
  explicit Bf16Products(const Bf16Kernels& kernels);  // for tests
  ~Bf16Products();
  Bf16Products(const Bf16Products&) = delete;
  Bf16Products& operator=(const Bf16Products&) = delete;

  // The kernels to use in this thread, or null.
  static const Bf16Kernels* kernels();

 private:
  const Bf16Kernels* before_;
};

}  // namespace causeway::kernels::cpu
