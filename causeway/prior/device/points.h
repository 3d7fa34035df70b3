// The values of a root node: random points mapped by a random function.
#pragma once

#include "causeway/prior/device/function.h"

namespace causeway::prior {

enum class PointsKind : std::uint8_t { uniform, ball, normal, covariance };

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void normal_points(W& w, Columns out) {
  const std::uint32_t site = w.next_site();
  for_each(w.team, w.row_end(), [&](int row) {
    const std::uint32_t at = w.drawn_row(row);
    for (int c = 0; c < out.n_columns; c += 4) {
      float values[4];
      normals_of(w.draws.bits(site, at, static_cast<std::uint32_t>(c / 4)), values);
      CAUSEWAY_UNROLL
      for (int k = 0; k < 4; ++k) {
        if (c + k < out.n_columns) out.column(c + k)[row] = values[k];
      }
    }
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void uniform_points(W& w, Columns out) {
  const std::uint32_t site = w.next_site();
  for_each(w.team, w.row_end(), [&](int row) {
    const std::uint32_t at = w.drawn_row(row);
    for (int c = 0; c < out.n_columns; c += 4) {
      const Bits128 bits = w.draws.bits(site, at, static_cast<std::uint32_t>(c / 4));
      CAUSEWAY_UNROLL
      for (int k = 0; k < 4; ++k) {
        if (c + k >= out.n_columns) continue;
        out.column(c + k)[row] = 2.0f * open_uniform(bits.word[k]) - 1.0f;
      }
    }
  });
  w.team.sync();
}

// Uniform in the unit ball.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void ball_points(W& w, Columns out) {
  normal_points(w, out);
  const std::uint32_t site = w.next_site();
  const float exponent = 1.0f / static_cast<float>(out.n_columns);
  for_each(w.team, w.row_end(), [&](int row) {
    float squares = 0.0f;
    for (int c = 0; c < out.n_columns; ++c) {
      squares = elementary::fma(out.column(c)[row], out.column(c)[row], squares);
    }
    const float radius = power(w.draws.uniform(site, w.drawn_row(row)), exponent);
    const float factor = radius / (elementary::square_root(squares) + 1e-30f);
    for (int c = 0; c < out.n_columns; ++c) out.column(c)[row] *= factor;
  });
  w.team.sync();
}

// Points times the transpose of a Gaussian matrix with randomly weighted columns.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void covariance_points(W& w, Columns out) {
  const int n = out.n_columns;
  const Scratch scratch(w.arena);
  const Columns base = w.take_columns(n);
  const MatrixShape square{1, n, n};
  float* matrix = w.arena.take(square.size());
  float* weights = w.arena.take(n);
  if (w.arena.failed) return;
  const bool normal = choose(w, Choice::covariance_points) == 1;
  if (normal)
    normal_points(w, base);
  else
    uniform_points(w, base);
  gaussian_matrix(w, square, matrix);
  const std::uint32_t site = w.next_site();
  w.team.columns(1, [&](int, const auto& lanes) {
    draw_weights(lanes, w.draws, site, 0, n, [&](int i) -> float& { return weights[i]; });
  });
  w.team.sync();
  note(w.team, "covariance_normal", normal);
  note_array(w.team, "covariance_matrix", matrix, square.size());
  note_array(w.team, "covariance_weights", weights, n);
  note_array(w.team, "covariance_base", base.data, static_cast<std::int64_t>(n) * w.stride);
  for_each(w.team, n * n, [&](int i) { matrix[i] *= weights[i % n]; });
  w.team.sync();
  multiply(w, base, matrix, out);
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_points(W& w, Columns out) {
  const auto kind = static_cast<PointsKind>(choose(w, Choice::base_points));
  note(w.team, "points", static_cast<double>(kind));
  const Scratch scratch(w.arena);
  const Columns base = w.take_columns(out.n_columns);
  if (w.arena.failed) return;
  switch (kind) {
    case PointsKind::uniform: uniform_points(w, base); break;
    case PointsKind::ball: ball_points(w, base); break;
    case PointsKind::normal: normal_points(w, base); break;
    case PointsKind::covariance: covariance_points(w, base); break;
  }
  if (w.arena.failed) return;
  note_array(w.team, "base_points", base.data,
             static_cast<std::int64_t>(base.n_columns) * w.stride);
  random_function(w, base, out);
}

}  // namespace causeway::prior
