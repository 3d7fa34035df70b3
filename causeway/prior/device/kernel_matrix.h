// Random kernel matrices, and points of a random Gaussian mixture.
#pragma once

#include "causeway/prior/device/matrix_rows.h"

namespace causeway::prior {

// 3-D points from a mixture of Gaussians with random centres and covariances.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void mixture_points(W& w, int n_points, float* out) {
  constexpr int kSize = 3;
  constexpr int kCentre = kSize + kSize * kSize;  // floats per component: mean and matrix
  const int n_centres = integer(w, Number::mixture_centres, 1, 16, true);
  const Scratch scratch(w.arena);
  float* centres = w.arena.take(n_centres * kCentre);
  float* cumulative = w.arena.take(n_centres);
  const std::uint32_t site = w.next_site();
  const std::uint32_t shape_site = w.next_site();
  const std::uint32_t weight_site = w.next_site();
  const std::uint32_t point_site = w.next_site();
  const Bits128 common = w.draws.bits(w.next_site(), 0);
  if (w.arena.failed) return;
  float log_scale, log_spread;
  normal_pair_f32(common.word[0], common.word[1], log_scale, log_spread);
  const auto draw_component = [&](int c) {
    float* centre = centres + c * kCentre;
    const auto at = static_cast<std::uint32_t>(c);
    float factor = 0.0f;
    row_normals(w.draws, site, at, kCentre + 1, [&](int i, float value) {
      if (i < kCentre) centre[i] = value;
      if (i == kCentre) factor = elementary::exp(elementary::fma(log_spread, value, log_scale));
    });
    float widths[kSize];
    draw_weights(SoloLanes{}, w.draws, shape_site, at, kSize,
                 [&](int i) -> float& { return widths[i]; });
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) centre[kSize + i * kSize + j] *= widths[j] * factor;
    }
  };
  w.team.columns(2, [&](int part, const auto& lanes) {
    if (part == 0) return lanes.each(n_centres, draw_component);
    draw_weights(lanes, w.draws, weight_site, 0, n_centres,
                 [&](int i) -> float& { return cumulative[i]; });
    for (int i = 1; lanes.is_leader() && i < n_centres; ++i) cumulative[i] += cumulative[i - 1];
  });
  w.team.sync();
  note(w.team, "point_site", point_site);
  note_array(w.team, "components", centres, n_centres * kCentre);
  note_array(w.team, "component_weights", cumulative, n_centres);
  for_each(w.team, n_points, [&](int p) {
    const auto at = static_cast<std::uint32_t>(p);
    float step[4];
    normals_of(w.draws.bits(point_site, at, 0), step);
    const float place = w.draws.uniform(point_site, at, 1) * cumulative[n_centres - 1];
    int c = 0;
    while (c < n_centres - 1 && place >= cumulative[c]) ++c;
    const float* centre = centres + c * kCentre;
    for (int i = 0; i < kSize; ++i) {
      float value = centre[i];
      for (int j = 0; j < kSize; ++j) {
        value = elementary::fma(centre[kSize + i * kSize + j], step[j], value);
      }
      out[p * kSize + i] = value;
    }
  });
  w.team.sync();
}

// A Laplace kernel between points, with random signs.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void kernel_matrix(W& w, const MatrixShape& shape, float* out) {
  const int per_batch = shape.n + shape.m;
  const Scratch scratch(w.arena);
  float* points = w.arena.take(static_cast<std::int64_t>(shape.n_batch) * per_batch * 3);
  if (w.arena.failed) return;
  mixture_points(w, shape.n_batch * per_batch, points);
  const float scale = number(w, Number::kernel_scale, {0.1f, 10.0f, true});
  const std::uint32_t site = w.next_site();
  note(w.team, "kernel_scale", scale);
  note(w.team, "kernel_site", site);
  note_array(w.team, "kernel_points", points,
             static_cast<std::int64_t>(shape.n_batch) * per_batch * 3);
  constexpr int kSigns = 128;                               // per draw
  constexpr int kPiece = W::Team::kRows == 1 ? 4 : kSigns;  // elements of a row per thread
  const int n_pieces = (shape.m + kPiece - 1) / kPiece;
  for_each(w.team, shape.n_rows() * n_pieces, [&](int at) {
    const int row = at / n_pieces;
    const int first = (at - row * n_pieces) * kPiece;
    float* to = out + static_cast<std::int64_t>(row) * shape.m;
    const float* batch = points + static_cast<std::int64_t>(row / shape.n) * per_batch * 3;
    const float* own = batch + row % shape.n * 3;
    const Bits128 bits = w.draws.bits(site, static_cast<std::uint32_t>(row),
                                      static_cast<std::uint32_t>(first / kSigns));
    for (int i = first; i < first + kPiece && i < shape.m; ++i) {
      const float* other = batch + (shape.n + i) * 3;
      float squares = 0.0f;
      for (int j = 0; j < 3; ++j) {
        const float distance = own[j] - other[j];
        squares = elementary::fma(distance, distance, squares);
      }
      const float value = elementary::exp(-scale * elementary::square_root(squares));
      to[i] = (bits.word[i / 32 % 4] >> (i % 32) & 1u) != 0 ? value : -value;
    }
  });
  w.team.sync();
}

}  // namespace causeway::prior
