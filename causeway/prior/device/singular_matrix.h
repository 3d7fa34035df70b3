// Random matrices with given singular values.
#pragma once

#include "causeway/prior/device/matrix_rows.h"

namespace causeway::prior {

// GPU: U diag(weights) V of one matrix, with as much of U at a time as fits; returns false if there
// is not enough space.
template <class W>
CAUSEWAY_HOST_DEVICE bool multiply_parts(W& w, const MatrixShape& shape, std::uint32_t u_site,
                                         const float* weights, const float* v, float* out) {
  const int k = shape.n < shape.m ? shape.n : shape.m;
  const std::int64_t room = (w.arena.capacity - w.arena.used) / k / kTile * kTile;
  if (room < kTile) return false;
  const int part = room < tiled(shape.n) ? static_cast<int>(room) : tiled(shape.n);
  float* u = w.arena.spare(static_cast<std::int64_t>(part) * k);  // transposed, tiles contiguous
  W of = with_rows(w, shape.m);
  for (int first = 0; first < shape.n; first += part) {
    const int here = shape.n - first < part ? shape.n - first : part;
    normals_of_rows(w, u_site, first, here, k, [&](int row, int j, float value) {
      u[static_cast<std::int64_t>(j) * part + row - first] = value * weights[j];
    });
    // Tiles are read whole; the sums of the padding are not stored.
    const int padding = tiled(here) - here;
    for_each(w.team, padding * k, [&](int at) {
      u[static_cast<std::int64_t>(at / padding) * part + here + at % padding] = 0.0f;
    });
    w.team.sync();
    const Columns to{out + static_cast<std::int64_t>(first) * shape.m, here, shape.m};
    const Columns from{const_cast<float*>(v), k, shape.m};
    sum_outputs(of, u, k, part, to,
                [&](int row, int i, int end, const float* factors, int step, auto& sum) {
                  add_columns(from.slice(i, end - i), row, factors, step, sum);
                });
    w.team.sync();
  }
  return true;
}

// U diag(weights) V with Gaussian U and V.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void singular_values_matrix(W& w, const MatrixShape& shape, float* out) {
  const int k = shape.n < shape.m ? shape.n : shape.m;
  const Scratch scratch(w.arena);
  float* v = take_normals(w, static_cast<std::int64_t>(shape.n_batch) * k * shape.m);
  float* weights = w.arena.take(static_cast<std::int64_t>(shape.n_batch) * k);
  const std::uint32_t site = w.next_site();
  const std::uint32_t u_site = w.next_site();
  if (w.arena.failed) return;
  w.team.columns(shape.n_batch, [&](int batch, const auto& lanes) {
    draw_weights(lanes, w.draws, site, static_cast<std::uint32_t>(batch), k,
                 [&](int i) -> float& { return weights[batch * k + i]; });
  });
  fill_normals(w, w.next_site(), v, static_cast<std::int64_t>(shape.n_batch) * k * shape.m);
  note(w.team, "u_site", u_site);
  note_array(w.team, "v", v, static_cast<std::int64_t>(shape.n_batch) * k * shape.m);
  note_array(w.team, "values", weights, static_cast<std::int64_t>(shape.n_batch) * k);
  if constexpr (W::Team::kRows == 1) {
    if (shape.n_batch == 1 && multiply_parts(w, shape, u_site, weights, v, out)) return;
  }
  // If U fits, threads share the elements, otherwise the rows.
  float* u = w.arena.spare(static_cast<std::int64_t>(shape.n_rows()) * k);
  if (W::Team::kRows == 1 && u != nullptr) {
    normals_of_rows(w, u_site, 0, shape.n_rows(), k, [&](int row, int j, float value) {
      u[static_cast<std::int64_t>(row) * k + j] = value * weights[row / shape.n * k + j];
    });
    w.team.sync();
    for_each(w.team, static_cast<int>(shape.size()), [&](int at) {
      const int row = at / shape.m;
      const float* factors = of_device(u + static_cast<std::int64_t>(row) * k);
      const float* from = of_device(v + static_cast<std::int64_t>(row / shape.n) * k * shape.m +
                                    (at - row * shape.m));
      float sum = 0.0f;
      for (int j = 0; j < k; ++j, from += shape.m) sum = elementary::fma(factors[j], *from, sum);
      out[at] = sum;
    });
    w.team.sync();
    return;
  }
  for_each(w.team, shape.n_rows(), [&](int row) {
    float* to = out + static_cast<std::int64_t>(row) * shape.m;
    const int batch = row / shape.n;
    for (int i = 0; i < shape.m; ++i) to[i] = 0.0f;
    row_normals(w.draws, u_site, static_cast<std::uint32_t>(row), k, [&](int j, float value) {
      const float factor = value * weights[batch * k + j];
      const float* from = v + (static_cast<std::int64_t>(batch) * k + j) * shape.m;
      for (int i = 0; i < shape.m; ++i) to[i] = elementary::fma(factor, from[i], to[i]);
    });
  });
  w.team.sync();
}

}  // namespace causeway::prior
