// Eigenvalues and eigenvectors of a symmetric matrix, by Householder tridiagonalisation and
// implicit QL iterations: about 8 n^3 operations, bound by arithmetic.
#pragma once

#include <cstdint>
#include <vector>

namespace causeway::models {

struct SymmetricEigen {
  std::vector<double> values;   // descending
  std::vector<double> vectors;  // (n, n): row i is the eigenvector of values[i], of length 1
};

// `matrix` (n, n) is symmetric and finite.
SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::int64_t n);

}  // namespace causeway::models
