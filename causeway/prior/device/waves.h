// Random functions that are sums of waves: samples of Gaussian processes.
#pragma once

#include "causeway/prior/device/matrix.h"

namespace causeway::prior {

inline constexpr int kFrequencies = 256;

// The frequencies of the features below: (kFrequencies, columns), row by row.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_frequencies(W& w, int n_in, float* frequencies) {
  const float decay = number(w, Number::gp_decay, {2.0f, 20.0f, true});
  const bool product = choose(w, Choice::product_kernel) == 1;
  const std::uint32_t site = w.next_site();
  const auto radius = [&](std::uint32_t a, std::uint32_t b) {  // by the inverse of its CDF
    const float u = clamped(w.draws.uniform(site, a, b), 1e-6f, 1.0f - 1e-6f);
    return power(u, 1.0f / (1.0f - decay)) - 1.0f;
  };
  note(w.team, "product_kernel", product);
  note(w.team, "decay", decay);
  note(w.team, "radius_site", site);
  if (product) {  // independent along every axis
    for_each(w.team, kFrequencies * n_in,
             [&](int at) { frequencies[at] = radius(static_cast<std::uint32_t>(at), 0); });
    w.team.sync();
    return;
  }
  const float scale = number(w, Number::gp_scale, {0.5f, 10.0f, true});
  const Scratch scratch(w.arena);
  const MatrixShape square{1, n_in, n_in};
  float* transform = w.arena.take(square.size());
  float* weights = w.arena.take(n_in);
  float* directions = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  float* turned = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  if (w.arena.failed) return;
  gaussian_matrix(w, square, transform);
  const std::uint32_t weight_site = w.next_site();
  w.team.columns(1, [&](int, const auto& lanes) {
    draw_weights(lanes, w.draws, weight_site, 0, n_in, [&](int i) -> float& { return weights[i]; });
  });
  const std::uint32_t direction_site = w.next_site();
  for_each(w.team, kFrequencies * ((n_in + 3) / 4), [&](int at) {
    const int f = at % kFrequencies;
    const int four = at / kFrequencies;
    float values[4];
    normals_of(w.draws.bits(direction_site, static_cast<std::uint32_t>(f),
                            static_cast<std::uint32_t>(four)),
               values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (4 * four + k < n_in) directions[(4 * four + k) * kFrequencies + f] = values[k];
    }
  });
  w.team.sync();
  for_each(w.team, kFrequencies, [&](int f) {
    float* direction = of_device(directions + f);
    float squares = 0.0f;
    for (int i = 0; i < n_in; ++i) {
      const float value = direction[i * kFrequencies];
      squares = elementary::fma(value, value, squares);
    }
    const float factor = scale * radius(static_cast<std::uint32_t>(f), 1) /
                         (elementary::square_root(squares) + 1e-30f);
    for (int i = 0; i < n_in; ++i) direction[i * kFrequencies] *= factor;
  });
  w.team.sync();
  note(w.team, "gp_scale", scale);
  note(w.team, "direction_site", direction_site);
  note_array(w.team, "transform", transform, square.size());
  note_array(w.team, "axis_weights", weights, n_in);
  W of = with_rows(w, kFrequencies);
  multiply(of, Columns{directions, n_in, kFrequencies}, transform,
           Columns{turned, n_in, kFrequencies});
  take_back(w, of);
  if (w.arena.failed) return;
  for_each(w.team, kFrequencies * n_in, [&](int at) {
    const int i = at % n_in;
    frequencies[at] = turned[i * kFrequencies + at / n_in] * weights[i];
  });
  w.team.sync();
}

// Adds eight features of some rows, times their weights, to kOuts outputs.
template <int kOuts, int kEach>
CAUSEWAY_HOST_DEVICE void add_to_outputs(const float (&waves)[kEach][kTile], const float* weights,
                                         int stride, float* const (&out)[kEach]) {
  float sum[kOuts][kEach];
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) {
    CAUSEWAY_UNROLL
    for (int b = 0; b < kEach; ++b) {
      sum[j][b] = of_device(out[b])[static_cast<std::int64_t>(j) * stride];
    }
  }
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) {
    float factors[kTile];
    load_tile(weights + j * kFrequencies, factors);
    CAUSEWAY_UNROLL
    for (int b = 0; b < kEach; ++b) {
      CAUSEWAY_UNROLL
      for (int k = 0; k < kTile; ++k) {
        sum[j][b] = elementary::fma(waves[b][k], factors[k], sum[j][b]);
      }
    }
  }
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) {
    CAUSEWAY_UNROLL
    for (int b = 0; b < kEach; ++b) {
      of_device(out[b])[static_cast<std::int64_t>(j) * stride] = sum[j][b];
    }
  }
}

// The features of process_function with their weights, by many: none is stored, but eight at a time
// go into the sums of all outputs. A thread that has one row left takes it twice, which gives the
// same.
template <class W>
CAUSEWAY_HOST_DEVICE void add_waves(W& w, Columns x, const float* frequencies, const float* phases,
                                    const float* weights, Columns out) {
  constexpr int kEach = 2;
  constexpr int kOuts = 4;
  const int n_in = x.n_columns;
  const int n_out = out.n_columns;
  const int pitch = tiled(n_out);
  const Scratch scratch(w.arena);
  // As much as one thread takes for its two products.
  float* turned =
      w.arena.take(static_cast<std::int64_t>(kFrequencies) * (n_in > pitch ? n_in : pitch));
  if (w.arena.failed) return;
  turn_factors(w, frequencies, n_in, kFrequencies, kFrequencies, turned);
  const int step = w.team.size();
  for (int first = w.team.rank(); first < w.n_rows; first += kEach * step) {
    const int rows[kEach] = {first, first + step < w.n_rows ? first + step : first};
    for (int o = 0; o < n_out; ++o) {
      float* column = out.column(o);
      CAUSEWAY_UNROLL
      for (int b = 0; b < kEach; ++b) column[rows[b]] = 0.0f;
    }
    for (int f = 0; f < kFrequencies; f += kTile) {
      float factors[kTile];
      float waves[kEach][kTile] = {};
      for (int i = 0; i < n_in; ++i) {
        load_tile(turned + i * kFrequencies + f, factors);
        const float* column = x.column(i);
        CAUSEWAY_UNROLL
        for (int b = 0; b < kEach; ++b) {
          const float value = column[rows[b]];
          CAUSEWAY_UNROLL
          for (int k = 0; k < kTile; ++k) {
            waves[b][k] = elementary::fma(value, factors[k], waves[b][k]);
          }
        }
      }
      load_tile(phases + f, factors);
      CAUSEWAY_UNROLL
      for (int b = 0; b < kEach; ++b) {
        CAUSEWAY_UNROLL
        for (int k = 0; k < kTile; ++k) waves[b][k] = cos_of(waves[b][k] + factors[k]);
      }
      float* to[kEach] = {out.data + rows[0], out.data + rows[1]};
      const float* from = weights + f;
      int o = 0;
      for (; o + kOuts <= n_out; o += kOuts, from += kOuts * kFrequencies) {
        add_to_outputs<kOuts>(waves, from, out.stride, to);
        CAUSEWAY_UNROLL
        for (int b = 0; b < kEach; ++b) to[b] += static_cast<std::int64_t>(kOuts) * out.stride;
      }
      for (; o < n_out; ++o, from += kFrequencies) {
        add_to_outputs<1>(waves, from, out.stride, to);
        CAUSEWAY_UNROLL
        for (int b = 0; b < kEach; ++b) to[b] += out.stride;
      }
    }
  }
  w.team.sync();
}

// A Gaussian process by 256 random Fourier features.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void process_function(W& w, Columns x, Columns out) {
  constexpr int kRows = W::Team::kRows;
  const int n_in = x.n_columns;
  const Scratch scratch(w.arena);
  float* frequencies = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  const std::int64_t n_weights = static_cast<std::int64_t>(out.n_columns) * kFrequencies;
  float* weights = take_normals(w, n_weights);
  const Columns features = w.take_columns(kFrequencies);
  float* phases = w.arena.take(kFrequencies);
  if (w.arena.failed) return;
  draw_frequencies(w, n_in, frequencies);
  if (w.arena.failed) return;
  const std::uint32_t phase_site = w.next_site();
  fill_normals(w, w.next_site(), weights, n_weights);
  for_each(w.team, static_cast<int>(n_weights), [&](int i) { weights[i] *= 0.0625f; });
  for_each(w.team, kFrequencies, [&](int f) {
    phases[f] = 6.28318531f * w.draws.uniform(phase_site, static_cast<std::uint32_t>(f));
  });
  w.team.sync();
  note_array(w.team, "phases", phases, kFrequencies);
  note_array(w.team, "frequencies", frequencies, static_cast<std::int64_t>(n_in) * kFrequencies);
  note_array(w.team, "weights", weights, n_weights);
  if constexpr (W::Team::kRows == 1) return add_waves(w, x, frequencies, phases, weights, out);
  multiply(w, x, frequencies, features);
  for_rows(w.team, w.n_rows, [&](int row) {
    for (int f = 0; f < kFrequencies; ++f) {
      float* column = features.column(f) + row;
      const float phase = phases[f];
      for (int b = 0; b < kRows; ++b) column[b] = cos_of(column[b] + phase);
    }
  });
  w.team.sync();
  multiply(w, features, weights, out);
}

}  // namespace causeway::prior
