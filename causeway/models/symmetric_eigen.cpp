// All inner loops run over a row of a matrix, so that they vectorise.
#include "causeway/models/symmetric_eigen.h"

#include "causeway/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace causeway::models {

namespace {

// y[i] += factor * x[i]
void add_scaled(double factor, const double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// A = Q T Q' for an orthogonal Q and a tridiagonal T.
struct Tridiagonal {
  std::vector<double> diagonal;      // of T
  std::vector<double> off_diagonal;  // element i couples i and i + 1; the last is 0
  std::vector<double> rows;          // (n, n): Q'
};

// A reflection I - factor v v' of the elements from `first` on.
struct Reflection {
  std::size_t first = 0;
  double factor = 0;
  std::vector<double> v;
};

// The reflection that maps x to (result, 0, 0, ...); its factor is 0 if x has that form.
Reflection reflection_of(const double* x, std::size_t first, std::size_t n, double& result) {
  Reflection made{first, 0, {x + first, x + n}};
  const double below =
      std::inner_product(made.v.begin() + 1, made.v.end(), made.v.begin() + 1, 0.0);
  result = made.v[0];
  if (below == 0) return made;
  result = -std::copysign(std::sqrt(made.v[0] * made.v[0] + below), made.v[0]);
  made.v[0] -= result;
  made.factor = 2 / (made.v[0] * made.v[0] + below);
  return made;
}

// B = H B H for the rows and columns of `a` from the reflection's first on.
void reflect_both_sides(const Reflection& h, double* a, std::size_t n) {
  const std::size_t size = h.v.size();
  std::vector<double> w(size, 0);  // factor B v - (factor / 2) (v' of that) v
  for (std::size_t i = 0; i < size; ++i) {
    add_scaled(h.factor * h.v[i], a + (h.first + i) * n + h.first, w.data(), size);
  }
  const double along = std::inner_product(w.begin(), w.end(), h.v.begin(), 0.0);
  add_scaled(-h.factor / 2 * along, h.v.data(), w.data(), size);
  for (std::size_t i = 0; i < size; ++i) {
    double* row = a + (h.first + i) * n + h.first;
    const double of_v = h.v[i];
    const double of_w = w[i];
    for (std::size_t j = 0; j < size; ++j) row[j] -= of_v * w[j] + of_w * h.v[j];
  }
}

Tridiagonal tridiagonalise(std::vector<double>& a, std::size_t n) {
  Tridiagonal made;
  made.off_diagonal.assign(n, 0);
  std::vector<Reflection> reflections;
  for (std::size_t k = 0; k + 1 < n; ++k) {
    // Row k of the symmetric matrix is its column k.
    const Reflection h = reflection_of(a.data() + k * n, k + 1, n, made.off_diagonal[k]);
    if (h.factor == 0) continue;
    reflect_both_sides(h, a.data(), n);
    reflections.push_back(h);
  }
  for (std::size_t i = 0; i < n; ++i) made.diagonal.push_back(a[i * n + i]);
  // Q is the product of the reflections. From the last to the first, each changes a block only.
  std::vector<double> q(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) q[i * n + i] = 1;
  for (std::size_t r = reflections.size(); r-- > 0;) {
    const Reflection& h = reflections[r];
    const std::size_t size = h.v.size();
    std::vector<double> across(size, 0);  // v' Q
    double* block = q.data() + h.first * n + h.first;
    for (std::size_t i = 0; i < size; ++i) {
      add_scaled(h.v[i], block + i * n, across.data(), size);
    }
    for (std::size_t i = 0; i < size; ++i) {
      add_scaled(-h.factor * h.v[i], across.data(), block + i * n, size);
    }
  }
  made.rows.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) made.rows[j * n + i] = q[i * n + j];
  }
  return made;
}

// (x, y) = (c x - s y, s x + c y)
void rotate(double c, double s, double* x, double* y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double before = x[i];
    x[i] = c * before - s * y[i];
    y[i] = s * before + c * y[i];
  }
}

// One implicit QL step, with Wilkinson's shift, on the block from `first` to `last` of T.
void ql_step(Tridiagonal& t, std::size_t first, std::size_t last, std::size_t n) {
  std::vector<double>& d = t.diagonal;
  std::vector<double>& e = t.off_diagonal;
  const double half = (d[first + 1] - d[first]) / (2 * e[first]);
  const double shift = d[first] - e[first] / (half + std::copysign(std::hypot(half, 1.0), half));
  double c = 1;
  double s = 1;
  double carried = d[last] - shift;
  double moved = 0;  // from the diagonal element below
  for (std::size_t i = last; i-- > first;) {
    const double bulge = s * e[i];
    const double kept = c * e[i];
    const double length = std::hypot(bulge, carried);
    e[i + 1] = length;
    if (length == 0) {  // the block splits here
      d[i + 1] -= moved;
      e[last] = 0;
      return;
    }
    s = bulge / length;
    c = carried / length;
    const double corner = d[i + 1] - moved;
    const double turned = (d[i] - corner) * s + 2 * c * kept;
    moved = s * turned;
    d[i + 1] = corner + moved;
    carried = c * turned - kept;
    rotate(c, s, t.rows.data() + i * n, t.rows.data() + (i + 1) * n, n);
  }
  d[first] -= moved;
  e[first] = carried;
  e[last] = 0;
}

// Makes T diagonal; its elements are the eigenvalues and `rows` the eigenvectors. The matrix has
// elements of at most 1, so that couplings below the rounding error of 1 are 0.
void diagonalise(Tridiagonal& t, std::size_t n) {
  constexpr double kNone = std::numeric_limits<double>::epsilon();
  std::size_t steps_left = 60 * n;
  for (std::size_t first = 0; first < n; ++first) {
    while (true) {
      std::size_t last = first;
      while (last + 1 < n && std::fabs(t.off_diagonal[last]) > kNone) ++last;
      if (last == first) break;
      if (steps_left-- == 0) {
        fail(ErrorKind::internal, "symmetric_eigen", "the QL iterations do not converge");
      }
      ql_step(t, first, last, n);
    }
  }
}

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, std::int64_t order) {
  const auto n = static_cast<std::size_t>(order);
  double greatest = 0;
  for (const double value : matrix) greatest = std::max(greatest, std::fabs(value));
  if (greatest > 0) {
    for (double& value : matrix) value /= greatest;
  }
  Tridiagonal t = tridiagonalise(matrix, n);
  diagonalise(t, n);
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return t.diagonal[a] > t.diagonal[b]; });
  SymmetricEigen made;
  for (const std::size_t place : places) {
    made.values.push_back(t.diagonal[place] * greatest);
    const auto row = t.rows.begin() + static_cast<std::ptrdiff_t>(place * n);
    made.vectors.insert(made.vectors.end(), row, row + order);
  }
  return made;
}

}  // namespace causeway::models
