// Random matrices row by row: batches, normal draws by element, normalisation. Matrices have few
// rows: threads share their elements in groups of four, except for ordered sums along a row.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/columns.h"
#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

// Calls f(i, value) for n standard normal values of a row.
template <class F>
CAUSEWAY_HOST_DEVICE void row_normals(const Draws& draws, std::uint32_t site, std::uint32_t row,
                                      int n, const F& f) {
  for (int i = 0; i < n; i += 4) {
    float values[4];
    normals_of(draws.bits(site, row, static_cast<std::uint32_t>(i / 4)), values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (i + k < n) f(i + k, values[k]);
    }
  }
}

// Calls f(row, i, value) for the same values of rows first ... first + n_rows - 1.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void normals_of_rows(const W& w, std::uint32_t site, int first, int n_rows,
                                          int n, const F& f) {
  const int n_fours = (n + 3) / 4;
  for_each(w.team, n_rows * n_fours, [&](int at) {
    const int row = first + at / n_fours;
    const int four = at % n_fours;
    float values[4];
    normals_of(
        w.draws.bits(site, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(four)),
        values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (4 * four + k < n) f(row, 4 * four + k, values[k]);
    }
  });
}

// A batch of matrices of one kind: (batch, n, m), row-major.
struct MatrixShape {
  int n_batch;
  int n;
  int m;

  CAUSEWAY_HOST_DEVICE int n_rows() const { return n_batch * n; }
  CAUSEWAY_HOST_DEVICE std::int64_t size() const {
    return static_cast<std::int64_t>(n_batch) * n * m;
  }
};

// Calls f(element, value) for every element with a standard normal value.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void normals_of_matrix(const W& w, std::uint32_t site,
                                            const MatrixShape& shape, float* out, const F& f) {
  normals_of_rows(w, site, 0, shape.n_rows(), shape.m, [&](int row, int i, float value) {
    f(of_device(out)[static_cast<std::int64_t>(row) * shape.m + i], value);
  });
}

// Scales the rows to unit length.
template <class W>
CAUSEWAY_HOST_DEVICE void normalise_rows(const W& w, const MatrixShape& shape, float* out) {
  for_each(w.team, shape.n_rows(), [&](int at) {
    float* row = of_device(out + static_cast<std::int64_t>(at) * shape.m);
    float squares = 0.0f;
    for (int i = 0; i < shape.m; ++i) squares = elementary::fma(row[i], row[i], squares);
    const float inverse = 1.0f / (1e-6f + elementary::square_root(squares));
    for (int i = 0; i < shape.m; ++i) row[i] *= inverse;
  });
}

}  // namespace causeway::prior
