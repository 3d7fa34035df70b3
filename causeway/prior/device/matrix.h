// Random matrices of five kinds, and points of a random Gaussian mixture. Matrices have few rows:
// threads share their elements, by fours, but for sums along a row, which have an order.
#pragma once

#include "causeway/prior/device/activation.h"
#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/columns.h"

namespace causeway::prior {

enum class MatrixKind : std::uint8_t { gaussian, weights, singular_values, kernel, activation };

// f(i, value) for n standard normal numbers of a row.
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

// f(row, i, value) for the same numbers of n_rows rows from the first.
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

// Many matrices of one kind: (batch, n, m), row-major.
struct MatrixShape {
  int n_batch;
  int n;
  int m;

  CAUSEWAY_HOST_DEVICE int n_rows() const { return n_batch * n; }
  CAUSEWAY_HOST_DEVICE std::int64_t size() const {
    return static_cast<std::int64_t>(n_batch) * n * m;
  }
};

// f(element, value) for an element of every place and a standard normal number.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void normals_of_matrix(const W& w, std::uint32_t site,
                                            const MatrixShape& shape, float* out, const F& f) {
  normals_of_rows(w, site, 0, shape.n_rows(), shape.m, [&](int row, int i, float value) {
    f(of_device(out)[static_cast<std::int64_t>(row) * shape.m + i], value);
  });
}

// Makes the rows unit vectors.
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

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void gaussian_matrix(W& w, const MatrixShape& shape, float* out) {
  const std::uint32_t site = w.next_site();
  note(w.team, "gaussian_site", site);
  normals_of_matrix(w, site, shape, out, [](float& to, float value) { to = value; });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void weights_matrix(W& w, const MatrixShape& shape, float* out) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t signs = w.next_site();
  const WeightLaws laws = weight_laws(w.draws);
  note(w.team, "weights_site", site);
  note(w.team, "signs_site", signs);
  // Where there is room, threads share the gamma numbers of all rows.
  const int n_rows = shape.n_rows();
  float* logs = W::Team::kRows == 1 ? w.arena.spare(4 * std::int64_t{n_rows}) : nullptr;
  if (logs != nullptr) {
    for_each(w.team, 4 * n_rows, [&](int at) {
      logs[at] = laws.log_gamma(w.draws, site, static_cast<std::uint32_t>(at / 4), at % 4);
    });
    w.team.sync();
  }
  w.team.columns(n_rows, [&](int at, const auto& lanes) {
    float* to = of_device(out + static_cast<std::int64_t>(at) * shape.m);
    const auto row = static_cast<std::uint32_t>(at);
    draw_weights_by(
        lanes, w.draws, site, row, shape.m,
        [&](int k) {
          return logs != nullptr ? logs[4 * at + k] : laws.log_gamma(w.draws, site, row, k);
        },
        [&](int i) -> float& { return to[i]; });
  });
  w.team.sync();
  normals_of_matrix(w, signs, shape, out, [](float& to, float value) { to *= value; });
  w.team.sync();
  normalise_rows(w, shape, out);
  w.team.sync();
}

// U diag(weights) V of one matrix by many, with as much of U at a time as there is room for;
// nothing where there is next to none.
template <class W>
CAUSEWAY_HOST_DEVICE bool multiply_parts(W& w, const MatrixShape& shape, std::uint32_t u_site,
                                         const float* weights, const float* v, float* out) {
  const int k = shape.n < shape.m ? shape.n : shape.m;
  const std::int64_t room = (w.arena.capacity - w.arena.used) / k / kTile * kTile;
  if (room < kTile) return false;
  const int part = room < tiled(shape.n) ? static_cast<int>(room) : tiled(shape.n);
  float* u = w.arena.spare(static_cast<std::int64_t>(part) * k);  // turned, a tile side by side
  W of = with_rows(w, shape.m);
  for (int first = 0; first < shape.n; first += part) {
    const int here = shape.n - first < part ? shape.n - first : part;
    normals_of_rows(w, u_site, first, here, k, [&](int row, int j, float value) {
      u[static_cast<std::int64_t>(j) * part + row - first] = value * weights[j];
    });
    w.team.sync();
    const Columns to{out + static_cast<std::int64_t>(first) * shape.m, here, shape.m};
    const Columns from{const_cast<float*>(v), k, shape.m};
    sum_by_many(of, u, k, part, to,
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
  // Where there is room for U, threads share the elements, else the rows.
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

// Points of three dimensions from a mixture of Gaussians with random centres and shapes.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void mixture_points(W& w, int n_points, float* out) {
  constexpr int kSize = 3;
  constexpr int kCentre = kSize + kSize * kSize;  // floats of a component: its mean, its matrix
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
    for (int i = 1; lanes.leads() && i < n_centres; ++i) cumulative[i] += cumulative[i - 1];
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
  constexpr int kSigns = 128;                               // that one drawing gives
  constexpr int kPiece = W::Team::kRows == 1 ? 4 : kSigns;  // of a row, to a thread
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

// Adds noise, if any, and makes the rows unit vectors.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void finish_matrix(W& w, const MatrixShape& shape, float noise,
                                             float* out) {
  const std::uint32_t site = w.next_site();
  note(w.team, "finish_site", site);
  normals_of_matrix(w, site, shape, out,
                    [&](float& to, float value) { to = elementary::fma(noise, value, to); });
  w.team.sync();
  normalise_rows(w, shape, out);
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void simple_matrix(W& w, MatrixKind kind, const MatrixShape& shape,
                                             float* out) {
  note(w.team, "simple_matrix", static_cast<double>(kind));
  switch (kind) {
    case MatrixKind::weights: return weights_matrix(w, shape, out);
    case MatrixKind::singular_values: return singular_values_matrix(w, shape, out);
    case MatrixKind::kernel: return kernel_matrix(w, shape, out);
    default: return gaussian_matrix(w, shape, out);
  }
}

// A plain activation of all of a matrix at once, for those that look at rows.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void activate_whole(W& w, Activation kind, float* values,
                                              std::int64_t size) {
  const int n = static_cast<int>(size);
  if (kind == Activation::rank || kind == Activation::argsort) {
    const Scratch scratch(w.arena);
    auto* order = reinterpret_cast<std::uint32_t*>(w.arena.take(w.team.order_space(n)));
    if (w.arena.failed) return;
    w.team.order_of(values, n, order);
    if (kind == Activation::rank) {
      for_each(w.team, n, [&](int i) { values[order[i]] = static_cast<float>(i); });
    } else {
      for_each(w.team, n, [&](int i) { values[i] = static_cast<float>(order[i]); });
    }
    w.team.sync();
    return;
  }
  w.team.columns(1, [&](int, const auto& lanes) {
    const float greatest = lanes.greatest(n, -3.4e38f, [&](int i) { return values[i]; });
    if (kind == Activation::is_max) {
      lanes.each(n, [&](int i) { values[i] = values[i] == greatest ? 1.0f : 0.0f; });
      return;
    }
    const float sum = lanes.sum(n, [&](int i) { return elementary::exp(values[i] - greatest); });
    lanes.each(n, [&](int i) { values[i] = elementary::exp(values[i] - greatest) / sum; });
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void activation_matrix(W& w, const MatrixShape& shape, float* out) {
  simple_matrix(w, static_cast<MatrixKind>(choose(w, Choice::simple_matrix)), shape, out);
  if (w.arena.failed) return;
  finish_matrix(w, shape, 1e-6f, out);
  const ActivationDraw drawn = draw_activation(w, true);
  const std::int64_t size = static_cast<std::int64_t>(shape.n) * shape.m;
  if (looks_at_rows(drawn.kind)) {
    for (int batch = 0; batch < shape.n_batch; ++batch) {
      activate_whole(w, drawn.kind, out + batch * size, size);
    }
  } else {
    with_activation(drawn.kind, [&](const auto& act) {
      for_each(w.team, static_cast<int>(shape.size()),
               [&](int i) { out[i] = act(out[i], drawn.exponent); });
    });
  }
  w.team.sync();
  const std::uint32_t site = w.next_site();
  note(w.team, "roughness_site", site);
  normals_of_matrix(w, site, shape, out,
                    [](float& to, float value) { to = elementary::fma(1e-3f, value, to); });
  w.team.sync();
}

// One of the five kinds.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_matrix(W& w, const MatrixShape& shape, float* out) {
  const auto kind = static_cast<MatrixKind>(choose(w, Choice::matrix));
  note(w.team, "matrix", static_cast<double>(kind));
  if (kind == MatrixKind::activation) {
    activation_matrix(w, shape, out);
  } else {
    simple_matrix(w, kind, shape, out);
  }
  if (w.arena.failed) return;
  finish_matrix(w, shape, 1e-6f, out);
}

}  // namespace causeway::prior
