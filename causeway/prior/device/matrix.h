// Random matrices of five kinds.
#pragma once

#include "causeway/prior/device/activation.h"
#include "causeway/prior/device/kernel_matrix.h"
#include "causeway/prior/device/matrix_rows.h"
#include "causeway/prior/device/singular_matrix.h"

namespace causeway::prior {

enum class MatrixKind : std::uint8_t { gaussian, weights, singular_values, kernel, activation };

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
  // If there is space, threads share the Gamma variates of all rows.
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

// Adds noise and scales the rows to unit length.
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

// Applies a row-wise activation to a whole matrix as one row.
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
  if (acts_on_rows(drawn.kind)) {
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

// A matrix of one of the five kinds.
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
