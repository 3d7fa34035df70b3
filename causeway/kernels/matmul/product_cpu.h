// Matrix products of our own, eight by eight sums at a time, which stay in registers while the
// inner dimension streams past. They run in the caller's thread, and each sum in one order: however
// rows are shared out among threads, the bits are the same.
//
// Both sides are read by *lines*: line k of the left has a number for each row of the result, line
// k of the right one for each column. A panel is eight neighbours of every line.
#pragma once

#include <cstdint>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kPanel = 8;

constexpr std::int64_t whole_panels(std::int64_t count) {
  return (count + kPanel - 1) / kPanel * kPanel;
}

// One side of a product. The last panel may be filled up with anything that can be read.
template <class C>
struct Panels {
  const C* data = nullptr;
  std::int64_t line = 0;  // elements from a line of a panel to the next
  std::int64_t step = 0;  // elements from a panel to the next

  // A matrix whose rows are the lines: nothing is moved.
  static Panels of_lines(const C* data, std::int64_t leading) { return {data, leading, kPanel}; }
  // What pack_lines() or pack_turned() made.
  static Panels packed(const C* data, std::int64_t n_lines) {
    return {data, kPanel, n_lines * kPanel};
  }
};

struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  std::int64_t leading = 0;  // elements between rows of the result
  bool adds = false;         // to what the result holds
};

// The functions below are there for float and double.
template <class C>
void multiply(const Product& product, const Panels<C>& left, const Panels<C>& right, C* out);

// Packs n_lines lines of `count` numbers, panel after panel: n_lines * whole_panels(count)
// elements. `leading` elements lie between neighbouring lines, or, where the lines are columns in
// memory, between neighbouring numbers of one.
template <class C>
void pack_lines(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                C* to);
template <class C>
void pack_turned(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                 C* to);

}  // namespace causeway::kernels::cpu
