// Compiled with contraction: each step of a sum is a fused multiply-add. Bound by arithmetic, as
// long as panels are in L1 or L2.
#include "causeway/kernels/matmul/product_cpu.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace causeway::kernels::cpu {

namespace {

#if defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class C>
constexpr int kLanes = kVectorBytes / sizeof(C);
template <class C>
constexpr int kVectors = static_cast<int>(kPanel) / kLanes<C>;  // per line

template <class C>
using Vector __attribute__((vector_size(kVectorBytes))) = C;

// A vector in memory, of any alignment. GCC 12 would split a vector that memcpy loads into scalars
// in general registers if its lanes are read one by one.
template <class C>
struct [[gnu::packed, gnu::may_alias]] Stored {
  Vector<C> vector;
};
template <class C>
Vector<C> load(const C* data) {
  return reinterpret_cast<const Stored<C>*>(data)->vector;
}
template <class C>
void store(C* data, const Vector<C>& vector) {
  reinterpret_cast<Stored<C>*>(data)->vector = vector;
}

// The elements of a line of the left. Arm multiplies by one lane of a vector; other CPUs broadcast
// one element.
template <class C>
struct Line {
#if defined(__aarch64__)
  Vector<C> vectors[kVectors<C>];
  explicit Line(const C* from) {
#pragma GCC unroll 4
    for (int i = 0; i < kVectors<C>; ++i) vectors[i] = load(from + i * kLanes<C>);
  }
  C operator[](int i) const { return vectors[i / kLanes<C>][i % kLanes<C>]; }
#else
  const C* numbers;
  explicit Line(const C* from) : numbers(from) {}
  C operator[](int i) const { return numbers[i]; }
#endif
};

// Accumulators for eight rows by eight columns.
template <class C>
struct Tile {
  Vector<C> sums[kPanel][kVectors<C>] = {};

  void add(const C* left, std::int64_t left_line, const C* right, std::int64_t right_line,
           std::int64_t inner) {
    for (std::int64_t k = 0; k < inner; ++k, left += left_line, right += right_line) {
      const Line<C> factors(left);
      Vector<C> across[kVectors<C>];
#pragma GCC unroll 4
      for (int i = 0; i < kVectors<C>; ++i) across[i] = load(right + i * kLanes<C>);
#pragma GCC unroll 8
      for (int row = 0; row < kPanel; ++row) {
        const C factor = factors[row];
#pragma GCC unroll 4
        for (int i = 0; i < kVectors<C>; ++i) sums[row][i] += across[i] * factor;
      }
    }
  }

  void store(C* out, std::int64_t leading, bool adds) const {
#pragma GCC unroll 8
    for (int row = 0; row < kPanel; ++row, out += leading) {
#pragma GCC unroll 4
      for (int i = 0; i < kVectors<C>; ++i) {
        C* to = out + i * kLanes<C>;
        cpu::store<C>(to, adds ? load(to) + sums[row][i] : sums[row][i]);
      }
    }
  }

  // Stores the upper left corner.
  void store(C* out, std::int64_t leading, bool adds, std::int64_t rows,
             std::int64_t columns) const {
    C whole[kPanel * kPanel];
    store(whole, kPanel, false);
    for (std::int64_t row = 0; row < rows; ++row, out += leading) {
      for (std::int64_t i = 0; i < columns; ++i) {
        out[i] = (adds ? out[i] : C(0)) + whole[row * kPanel + i];
      }
    }
  }
};

// Interleaves the first or second halves of a and b.
template <class C, bool second, int... lane>
Vector<C> zip(Vector<C> a, Vector<C> b, std::integer_sequence<int, lane...>) {
  constexpr int kFirst = second ? kLanes<C> / 2 : 0;
  return __builtin_shufflevector(a, b, (kFirst + lane / 2 + lane % 2 * kLanes<C>)...);
}

// Transposes a square of vectors by repeatedly interleaving its upper and lower half.
template <class C>
void transpose(Vector<C> (&square)[kLanes<C>]) {
  constexpr int kHalf = kLanes<C> / 2;
  constexpr std::make_integer_sequence<int, kLanes<C>> kEach;
#pragma GCC unroll 4
  for (int round = 1; round < kLanes<C>; round *= 2) {
    Vector<C> next[kLanes<C>];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes<C>; ++i) {
      const Vector<C>& a = square[i / 2];
      const Vector<C>& b = square[i / 2 + kHalf];
      next[i] = i % 2 == 0 ? zip<C, false>(a, b, kEach) : zip<C, true>(a, b, kEach);
    }
    std::copy(next, next + kLanes<C>, square);
  }
}

}  // namespace

template <class C>
void multiply(const Product& product, const Panels<C>& left, const Panels<C>& right, C* out) {
  for (std::int64_t row = 0; row < product.rows; row += kPanel) {
    const C* from = left.data + row / kPanel * left.step;
    const std::int64_t rows = std::min(kPanel, product.rows - row);
    for (std::int64_t column = 0; column < product.columns; column += kPanel) {
      Tile<C> tile;
      tile.add(from, left.line, right.data + column / kPanel * right.step, right.line,
               product.inner);
      const std::int64_t columns = std::min(kPanel, product.columns - column);
      C* to = out + row * product.leading + column;
      if (rows == kPanel && columns == kPanel) {
        tile.store(to, product.leading, product.adds);
      } else {
        tile.store(to, product.leading, product.adds, rows, columns);
      }
    }
  }
}

template <class C>
void pack_lines(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                C* to) {
  // A few lines at a time, each read sequentially.
  constexpr std::int64_t kFew = 8;
  for (std::int64_t k = 0; k < n_lines; k += kFew) {
    const std::int64_t end = std::min(n_lines, k + kFew);
    for (std::int64_t first = 0; first < count; first += kPanel) {
      const std::int64_t width = std::min(kPanel, count - first);
      C* panel = to + first * n_lines;
      for (std::int64_t line = k; line < end; ++line) {
        const C* at = from + line * leading + first;
        C* into = panel + line * kPanel;
        if (width == kPanel) {
#pragma GCC unroll 4
          for (int i = 0; i < kPanel; i += kLanes<C>) store<C>(into + i, load(at + i));
        } else {
          std::fill(std::copy(at, at + width, into), into + kPanel, C(0));
        }
      }
    }
  }
}

template <class C>
void pack_transposed(const C* from, std::int64_t leading, std::int64_t n_lines, std::int64_t count,
                     C* to) {
  for (std::int64_t first = 0; first < count; first += kPanel) {
    const C* columns[kPanel];
    for (std::int64_t i = 0; i < kPanel; ++i) {
      columns[i] = from + std::min(first + i, count - 1) * leading;
    }
    std::int64_t k = 0;
    for (; k + kLanes<C> <= n_lines; k += kLanes<C>, to += kLanes<C> * kPanel) {
#pragma GCC unroll 4
      for (int part = 0; part < kPanel; part += kLanes<C>) {
        Vector<C> square[kLanes<C>];
#pragma GCC unroll 8
        for (int i = 0; i < kLanes<C>; ++i) square[i] = load(columns[part + i] + k);
        transpose<C>(square);
#pragma GCC unroll 8
        for (int i = 0; i < kLanes<C>; ++i) store<C>(to + i * kPanel + part, square[i]);
      }
    }
    for (; k < n_lines; ++k, to += kPanel) {
      for (std::int64_t i = 0; i < kPanel; ++i) to[i] = columns[i][k];
    }
  }
}

#define CAUSEWAY_PRODUCTS(C)                                                        \
  template void multiply(const Product&, const Panels<C>&, const Panels<C>&, C*);   \
  template void pack_lines(const C*, std::int64_t, std::int64_t, std::int64_t, C*); \
  template void pack_transposed(const C*, std::int64_t, std::int64_t, std::int64_t, C*);
CAUSEWAY_PRODUCTS(float)
CAUSEWAY_PRODUCTS(double)
#undef CAUSEWAY_PRODUCTS

}  // namespace causeway::kernels::cpu
