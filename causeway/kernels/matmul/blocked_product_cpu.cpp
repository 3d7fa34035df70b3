#include "causeway/kernels/matmul/blocked_product_cpu.h"

#include "causeway/kernels/matmul/product_cpu.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

// Lines of a block (all, if there are at most kLines, else kLinesOfMany at a time), and the number
// of elements of either side packed at once: those of the right fit the L2 cache, those of the left
// the L1 cache.
constexpr std::int64_t kLines = 512;
constexpr std::int64_t kLinesOfMany = 256;
constexpr std::int64_t kRight = 1 << 17;
constexpr std::int64_t kLeft = 1 << 13;
constexpr std::int64_t kLeftBf16 = 1 << 14;
constexpr std::int64_t kLeastRows = 32;  // minimum rows per thread, to amortise packing the right
constexpr std::int64_t kLeastWork = 1 << 20;  // minimum multiply-adds per thread

// OpenBLAS leaves a quarter of an Arm core's peak unused, and almost nothing of an x86 core's.
#if defined(__aarch64__)
constexpr bool kIsFaster = true;
#else
constexpr bool kIsFaster = false;
#endif

// One side of a product; each line is a row, or a column if `transposed`.
struct Side {
  const float* data;
  std::int64_t leading;
  bool transposed;

  Panels<float> pack(std::int64_t line, std::int64_t n_lines, std::int64_t first,
                     std::int64_t count, std::vector<float>& space) const {
    space.resize(std::max(space.size(), static_cast<std::size_t>(n_lines * whole_panels(count))));
    if (transposed) {
      pack_transposed(data + first * leading + line, leading, n_lines, count, space.data());
    } else {
      pack_lines(data + line * leading + first, leading, n_lines, count, space.data());
    }
    return Panels<float>::packed(space.data(), n_lines);
  }
};

std::int64_t panels_in(std::int64_t elements, std::int64_t n_lines) {
  return std::max(kPanel, elements / n_lines / kPanel * kPanel);
}

// Panel by panel of the right, which stays in L1 with all of the left.
void multiply_block(const Product& block, const Panels<float>& left, const Panels<float>& right,
                    float* out) {
  for (std::int64_t column = 0; column < block.columns; column += kPanel) {
    Product part = block;
    part.columns = std::min(kPanel, block.columns - column);
    multiply(part, left, {right.data + column / kPanel * right.step, right.line, right.step},
             out + column);
  }
}

// Rows [begin, end) of the product.
void multiply_some(const Side& a, const Side& b, std::int64_t inner, std::int64_t n_columns,
                   std::int64_t begin, std::int64_t end, bool adds, float* out,
                   const AfterRows& after) {
  thread_local std::vector<float> left_space;
  thread_local std::vector<float> right_space;
  const std::int64_t lines = inner > kLines ? kLinesOfMany : inner;
  const std::int64_t width = panels_in(kRight, lines);
  const std::int64_t height = panels_in(kLeft, lines);
  for (std::int64_t column = 0; column < n_columns; column += width) {
    for (std::int64_t line = 0; line < inner; line += lines) {
      const std::int64_t n_lines = std::min(lines, inner - line);
      const std::int64_t columns = std::min(width, n_columns - column);
      const bool is_last = line + n_lines == inner && column + columns == n_columns;
      const Panels<float> right = b.pack(line, n_lines, column, columns, right_space);
      for (std::int64_t row = begin; row < end; row += height) {
        const std::int64_t rows = std::min(height, end - row);
        const Panels<float> left = a.pack(line, n_lines, row, rows, left_space);
        multiply_block({rows, columns, n_lines, n_columns, adds || line > 0}, left, right,
                       out + row * n_columns + column);
        if (is_last && after) after(row, row + rows);
      }
    }
  }
}

}  // namespace

bool multiply_blocks(const MatrixLayout& a, const float* a_data, const MatrixLayout& b,
                     const float* b_data, bool adds, float* out, const AfterRows& after) {
  if (!kIsFaster || a.rows < kLeastRows) return false;
  const Side left{a_data, a.leading, !a.transposed};
  const Side right{b_data, b.leading, b.transposed};
  const std::int64_t n_tiles = (a.rows + kPanel - 1) / kPanel;
  const std::int64_t work = a.columns * b.columns * kPanel;  // of a tile
  const std::int64_t grain = std::max(kLeastRows / kPanel, kLeastWork / work);
  parallel_for(n_tiles, grain, [&](std::int64_t first, std::int64_t last) {
    multiply_some(left, right, a.columns, b.columns, first * kPanel,
                  std::min(a.rows, last * kPanel), adds, out, after);
  });
  return true;
}

void multiply_blocks(const Bf16Kernels& kernels, const MatrixLayout& a, const float* a_data,
                     const MatrixLayout& b, const float* b_data, float* out,
                     const AfterRows& after) {
  const std::int64_t inner = a.columns;
  const std::int64_t groups = whole_groups(inner);
  // The whole right is packed once; a panel of it stays in L1 with all rows of a block.
  std::vector<Bf16Bits> right(static_cast<std::size_t>(packed_size(b.columns, inner)));
  const std::int64_t grain = kLeastWork / 8 / kBf16Lines / std::max(groups, kBf16Lines);
  parallel_for(whole_lines(b.columns) / kBf16Lines, grain,
               [&](std::int64_t first, std::int64_t last) {
                 const std::int64_t column = first * kBf16Lines;
                 const std::int64_t count = std::min(b.columns, last * kBf16Lines) - column;
                 const auto pack = b.transposed ? kernels.pack_right : kernels.pack_right_across;
                 pack(b_data + column * (b.transposed ? b.leading : 1), b.leading, count, inner,
                      right.data() + column * groups);
               });
  const std::int64_t height =
      std::max(kBf16Lines, kLeftBf16 / std::max<std::int64_t>(groups, 1) / kBf16Lines * kBf16Lines);
  const std::int64_t work =
      std::max<std::int64_t>(inner * b.columns * kBf16Lines, 1);  // of a panel
  const auto multiply_rows = [&](std::int64_t first, std::int64_t last) {
    thread_local std::vector<Bf16Bits> left;
    left.resize(std::max(left.size(), static_cast<std::size_t>(packed_size(height, inner))));
    const std::int64_t end = std::min(a.rows, last * kBf16Lines);
    for (std::int64_t row = first * kBf16Lines; row < end; row += height) {
      const std::int64_t rows = std::min(height, end - row);
      kernels.pack_left(a_data + row * a.leading, a.leading, rows, inner, left.data());
      kernels.multiply({rows, b.columns, inner, b.columns, false}, left.data(), right.data(),
                       out + row * b.columns);
      if (after) after(row, row + rows);
    }
  };
  parallel_for(whole_lines(a.rows) / kBf16Lines, kLeastWork / work + 1, multiply_rows);
}

}  // namespace causeway::kernels::cpu
