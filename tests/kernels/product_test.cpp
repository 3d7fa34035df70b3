// Tiled and blocked products on the CPU, against sums in f64.
#include "causeway/kernels/matmul/product_cpu.h"

#include "causeway/kernels/matmul/blocked_product_cpu.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace causeway {
namespace {

using namespace kernels::cpu;
using kernels::MatrixLayout;

template <class C>
std::vector<C> drawn(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<C> uniform(-1, 1);
  std::vector<C> values(static_cast<std::size_t>(count));
  for (C& value : values) value = uniform(generator);
  return values;
}

// Element (row, column) of a matrix.
template <class C>
double at(const MatrixLayout& layout, const std::vector<C>& data, std::int64_t row,
          std::int64_t column) {
  const std::int64_t place =
      layout.transposed ? column * layout.leading + row : row * layout.leading + column;
  return static_cast<double>(data[static_cast<std::size_t>(place)]);
}

template <class C>
void expect_product(const MatrixLayout& a, const std::vector<C>& a_data, const MatrixLayout& b,
                    const std::vector<C>& b_data, const std::vector<C>& out, double added) {
  const double slack = sizeof(C) == 4 ? 1e-6 : 1e-14;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = added;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += at(a, a_data, i, k) * at(b, b_data, k, j);
      const double found = static_cast<double>(out[static_cast<std::size_t>(i * b.columns + j)]);
      ASSERT_NEAR(found, sum, slack * std::sqrt(static_cast<double>(a.columns)) * 4)
          << "row " << i << ", column " << j << " of " << a.rows << " x " << b.columns << " over "
          << a.columns;
    }
  }
}

template <class C>
void check_tiles(std::int64_t rows, std::int64_t columns, std::int64_t inner, bool adds) {
  const MatrixLayout a{rows, inner, inner + 3, false};
  const MatrixLayout b{inner, columns, columns + 1, false};
  const std::vector<C> a_data = drawn<C>(rows * a.leading, 1);
  const std::vector<C> b_data = drawn<C>(inner * b.leading, 2);
  std::vector<C> left(static_cast<std::size_t>(inner * whole_panels(rows)));
  std::vector<C> right(static_cast<std::size_t>(inner * whole_panels(columns)));
  pack_transposed(a_data.data(), a.leading, inner, rows, left.data());
  pack_lines(b_data.data(), b.leading, inner, columns, right.data());
  std::vector<C> out(static_cast<std::size_t>(rows * columns), C(0.5));
  multiply<C>({rows, columns, inner, columns, adds}, Panels<C>::packed(left.data(), inner),
              Panels<C>::packed(right.data(), inner), out.data());
  expect_product(a, a_data, b, b_data, out, adds ? 0.5 : 0);
}

TEST(Product, TilesOfAnySize) {
  for (std::int64_t size : {0, 1, 7, 8, 9, 31, 32, 33}) {
    for (bool adds : {false, true}) {
      check_tiles<float>(size, 19, 21, adds);
      check_tiles<float>(13, size, 8, adds);
      check_tiles<float>(16, 24, size, adds);
      check_tiles<double>(size, 9, 17, adds);
      check_tiles<double>(10, size, size, adds);
    }
  }
}

TEST(Product, BlocksOfAnySizeAndLayout) {
  const std::int64_t sizes[][3] = {{32, 1, 1},    {33, 7, 5},     {100, 288, 96},
                                   {65, 40, 513}, {97, 301, 129}, {40, 600, 1030}};
  for (const auto& [rows, columns, inner] : sizes) {
    for (int layout = 0; layout < 4; ++layout) {
      const bool turned_a = layout % 2 == 1;
      const bool turned_b = layout / 2 == 1;
      const MatrixLayout a{rows, inner, (turned_a ? rows : inner) + 2, turned_a};
      const MatrixLayout b{inner, columns, turned_b ? inner : columns, turned_b};
      const std::vector<float> a_data = drawn<float>((turned_a ? inner : rows) * a.leading, 3);
      const std::vector<float> b_data = drawn<float>(inner * columns, 4);
      std::vector<float> out(static_cast<std::size_t>(rows * columns), 7.0f);
      std::vector<int> seen(static_cast<std::size_t>(rows), 0);
      const auto after = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) ++seen[static_cast<std::size_t>(row)];
      };
      if (!multiply_blocks(a, a_data.data(), b, b_data.data(), false, out.data(), after)) {
        GTEST_SKIP() << "OpenBLAS is used on this processor";
      }
      expect_product(a, a_data, b, b_data, out, 0);
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << "every row must be reported once";
      std::fill(out.begin(), out.end(), 0.5f);
      multiply_blocks(a, a_data.data(), b, b_data.data(), true, out.data());
      expect_product(a, a_data, b, b_data, out, 0.5);
    }
  }
}

TEST(Product, SameBitsForAnyThreadCount) {
  const MatrixLayout a{300, 700, 700, false};
  const MatrixLayout b{700, 50, 700, true};
  const std::vector<float> a_data = drawn<float>(300 * 700, 5);
  const std::vector<float> b_data = drawn<float>(50 * 700, 6);
  const int before = thread_count();
  std::vector<float> one(300 * 50);
  set_thread_count(1);
  if (!multiply_blocks(a, a_data.data(), b, b_data.data(), false, one.data())) {
    GTEST_SKIP() << "OpenBLAS is used on this processor";
  }
  for (int threads : {2, 3, 7}) {
    set_thread_count(threads);
    std::vector<float> out(one.size());
    multiply_blocks(a, a_data.data(), b, b_data.data(), false, out.data());
    EXPECT_EQ(out, one) << threads << " threads";
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace causeway
