// Test columns for tokenizers: ties, constants, outliers, infinities, missing values.
#pragma once

#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tokenizer/tokenizer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace causeway::tokenizer_test {

struct Kind {
  const char* name;
  double (*draw)(std::mt19937_64&);
};

inline double normal(std::mt19937_64& engine) { return std::normal_distribution<>()(engine); }
inline double uniform(std::mt19937_64& engine) {
  return std::uniform_real_distribution<>()(engine);
}

inline const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"normal", normal},
      {"uniform", uniform},
      {"far from zero", [](std::mt19937_64& e) { return 1000 + normal(e); }},
      {"epoch seconds", [](std::mt19937_64& e) { return std::floor(1e9 + 7e8 * uniform(e)); }},
      {"many magnitudes", [](std::mt19937_64& e) { return std::exp(8 * normal(e)); }},
      {"few values", [](std::mt19937_64& e) { return std::floor(5 * uniform(e)); }},
      {"constant", [](std::mt19937_64&) { return 3.5; }},
      {"mostly zero", [](std::mt19937_64& e) { return uniform(e) < 0.9 ? 0.0 : normal(e); }},
      {"signed zeros", [](std::mt19937_64& e) { return uniform(e) < 0.5 ? 0.0 : -0.0; }},
      {"infinities",
       [](std::mt19937_64& e) {
         const double u = uniform(e);
         return u < 0.1 ? -INFINITY : u > 0.9 ? INFINITY : normal(e);
       }},
      {"missing", [](std::mt19937_64& e) { return uniform(e) < 0.2 ? NAN : normal(e); }},
  };
  return all;
}

// One column of every kind, row-major, in f64.
inline Tensor matrix_of_kinds(std::int64_t n_rows, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto n_columns = static_cast<std::int64_t>(kinds().size());
  Tensor matrix = Tensor::empty({n_rows, n_columns}, DType::f64);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    for (std::int64_t column = 0; column < n_columns; ++column) {
      matrix.data_as<double>()[row * n_columns + column] =
          kinds()[static_cast<std::size_t>(column)].draw(engine);
    }
  }
  return matrix;
}

inline const std::vector<DType>& binned_types() {
  static const std::vector<DType> types = {DType::f32, DType::f64, DType::i32, DType::i64};
  return types;
}

// The matrix in another dtype; values that an integer cannot represent become 0.
inline Tensor as_type(const Tensor& matrix, DType dtype) {
  if (is_floating(dtype)) return matrix.to(dtype);
  Tensor finite = matrix.clone();
  auto* values = finite.data_as<double>();
  for (std::int64_t i = 0; i < finite.numel(); ++i) {
    if (!(std::fabs(values[i]) < 2e9)) values[i] = 0;
  }
  return finite.to(dtype);
}

inline tokenizer::Options options(std::int64_t bins) {
  tokenizer::Options chosen;
  chosen.bins = bins;
  return chosen;
}

}  // namespace causeway::tokenizer_test
