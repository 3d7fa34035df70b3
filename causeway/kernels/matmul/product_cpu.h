// Our matrix products: eight by eight accumulators stay in registers while the inner dimension
// streams past. They run in the calling thread, and each sum has one order: the bits are equal
// however rows are distributed over threads.
//
// Both sides are read in *lines*: line k of the left has one element per row of the result, line
// k of the right one per column. A panel is eight adjacent elements of every line.
#pragma once

#include <cstdint>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kPanel = 8;

constexpr std::int64_t whole_panels(std::int64_t count) {
  return (count + kPanel - 1) / kPanel * kPanel;
}

// One side of a product. The padding of the last panel may be any readable memory.
template <class C>
struct Panels {
  const C* data = nullptr;
  std::int64_t line = 0;  // elements between lines of a panel
  std::int64_t step = 0;  // elements between panels

  // A matrix whose rows are the lines; no copy.
  static Panels of_lines(const C* data, std::int64_t leading) { return {data, leading, kPanel}; }
  // The result of pack_lines() or pack_transposed().
  static Panels packed(const C* data, std::int64_t n_lines) {
    return {data, kPanel, n_lines * kPanel};
  }
};

struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  std::int64_t leading = 0;  // elements between rows of the result
  bool adds = false;         // accumulate into the result
};

// Instantiated for float and double.
template <class C>
void multiply(const Product& product, const Panels<C>& left, const Panels<C>& right, C* out);

// Packs n_lines lines of `count` elements, panel by panel: n_lines * whole_panels(count) elements.
// `leading` is the distance between adjacent lines or, for pack_transposed, between adjacent
// elements of a line (the lines are columns in memory).
template <class C>
void pack_lines(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                C* to);
template <class C>
void pack_transposed(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                     C* to);

}  // namespace causeway::kernels::cpu
