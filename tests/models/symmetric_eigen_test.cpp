// Eigenvalues and eigenvectors: identities for random and degenerate matrices, known cases.
#include "causeway/models/symmetric_eigen.h"

#include "causeway/tensor/create.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace causeway::models {
namespace {

using Matrix = std::vector<double>;

double at(const Matrix& a, std::int64_t n, std::int64_t i, std::int64_t j) {
  return a[static_cast<std::size_t>(i * n + j)];
}

double greatest(const Matrix& a) {
  double found = 0;
  for (const double value : a) found = std::max(found, std::fabs(value));
  return found;
}

// B B' for a random B (n, rank).
Matrix random_product(std::int64_t n, std::int64_t rank, std::uint64_t seed) {
  Generator generator(seed);
  const auto b = generator.normal({n, rank}, 0, 1, DType::f64).to_vector<double>();
  Matrix made(static_cast<std::size_t>(n * n), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double& sum = made[static_cast<std::size_t>(i * n + j)];
      for (std::int64_t k = 0; k < rank; ++k) sum += at(b, rank, i, k) * at(b, rank, j, k);
    }
  }
  return made;
}

// A V = V D, V'V = I, and D in descending order.
SymmetricEigen expect_eigen(const Matrix& a, std::int64_t n) {
  SymmetricEigen got = symmetric_eigen(a, n);
  EXPECT_EQ(std::ssize(got.values), n);
  EXPECT_EQ(std::ssize(got.vectors), n * n);
  EXPECT_TRUE(std::is_sorted(got.values.rbegin(), got.values.rend()));
  const double limit = 1e-14 * static_cast<double>(n);
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t i = 0; i < n; ++i) {
      double product = 0;
      double overlap = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        product += at(a, n, i, j) * at(got.vectors, n, k, j);
        overlap += at(got.vectors, n, k, j) * at(got.vectors, n, i, j);
      }
      const double expected = got.values[static_cast<std::size_t>(k)] * at(got.vectors, n, k, i);
      EXPECT_NEAR(product, expected, limit * static_cast<double>(n) * greatest(a));
      EXPECT_NEAR(overlap, i == k ? 1 : 0, limit);
    }
  }
  return got;
}

TEST(SymmetricEigen, RandomMatrices) {
  for (const std::int64_t n : {1, 2, 3, 5, 17, 60}) {
    expect_eigen(random_product(n, n, 3), n);
    Matrix indefinite = random_product(n, n, 4);
    for (std::int64_t i = 0; i < n; ++i) indefinite[static_cast<std::size_t>(i * n + i)] -= 5;
    expect_eigen(indefinite, n);
  }
}

TEST(SymmetricEigen, KnownValues) {
  const auto two = expect_eigen({2, 1, 1, 2}, 2);
  EXPECT_NEAR(two.values[0], 3, 1e-14);
  EXPECT_NEAR(two.values[1], 1, 1e-14);
  EXPECT_EQ(expect_eigen({-7.5}, 1).values, (Matrix{-7.5}));
  EXPECT_EQ(expect_eigen({1, 0, 0, 0, 3, 0, 0, 0, 2}, 3).values, (Matrix{3, 2, 1}));
  // Second differences: 2 - 2 cos(pi k / (n + 1)).
  constexpr std::int64_t n = 40;
  Matrix differences(n * n, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    differences[static_cast<std::size_t>(i * n + i)] = 2;
    if (i > 0) differences[static_cast<std::size_t>(i * n + i - 1)] = -1;
    if (i + 1 < n) differences[static_cast<std::size_t>(i * n + i + 1)] = -1;
  }
  const auto got = expect_eigen(differences, n);
  for (std::int64_t k = 0; k < n; ++k) {
    EXPECT_NEAR(got.values[static_cast<std::size_t>(n - 1 - k)],
                2 - 2 * std::cos(std::acos(-1.0) * static_cast<double>(k + 1) / (n + 1)), 1e-13);
  }
}

TEST(SymmetricEigen, DegenerateMatrices) {
  constexpr std::int64_t n = 30;
  EXPECT_EQ(greatest(expect_eigen(Matrix(n * n, 0), n).values), 0);
  const auto ones = expect_eigen(Matrix(n * n, 1), n);  // rank 1
  EXPECT_NEAR(ones.values[0], n, 1e-12);
  EXPECT_NEAR(ones.values[1], 0, 1e-12);
  Matrix repeated(n * n, 0.5);  // 15.5 once, 0.5 29 times
  for (std::int64_t i = 0; i < n; ++i) repeated[static_cast<std::size_t>(i * n + i)] = 1;
  const auto got = expect_eigen(repeated, n);
  EXPECT_NEAR(got.values[0], 15.5, 1e-12);
  for (std::size_t k = 1; k < n; ++k) EXPECT_NEAR(got.values[k], 0.5, 1e-12);
  const auto low = expect_eigen(random_product(n, 4, 9), n);
  EXPECT_GT(low.values[3], 1e-2);
  EXPECT_NEAR(low.values[4], 0, 1e-12);
}

// Squares of these elements would over- or underflow.
TEST(SymmetricEigen, AnyMagnitude) {
  const Matrix a = random_product(8, 8, 5);
  const auto want = symmetric_eigen(a, 8);
  for (const double unit : {0x1p-1000, 0x1p1000}) {
    Matrix scaled = a;
    for (double& value : scaled) value *= unit;
    const auto got = symmetric_eigen(scaled, 8);
    for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(got.values[k] / unit, want.values[k], 1e-12);
    EXPECT_EQ(got.vectors, want.vectors);
  }
}

}  // namespace
}  // namespace causeway::models
