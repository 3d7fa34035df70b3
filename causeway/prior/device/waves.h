// Random functions as sums of sine waves: samples of Gaussian processes.
#pragma once

#include "causeway/prior/device/matrix.h"

namespace causeway::prior {

inline constexpr int kFrequencies = 256;

// Frequencies of the random features: (kFrequencies, columns), row-major.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_frequencies(W& w, int n_in, float* frequencies) {
  const float decay = number(w, Number::gp_decay, {2.0f, 20.0f, true});
  const bool product = choose(w, Choice::product_kernel) == 1;
  const std::uint32_t site = w.next_site();
  const auto radius = [&](std::uint32_t a, std::uint32_t b) {  // by the inverse CDF
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
  float* transposed = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
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
           Columns{transposed, n_in, kFrequencies});
  take_back(w, of);
  if (w.arena.failed) return;
  for_each(w.team, kFrequencies * n_in, [&](int at) {
    const int i = at % n_in;
    frequencies[at] = transposed[i * kFrequencies + at / n_in] * weights[i];
  });
  w.team.sync();
}

inline constexpr int kWaves = 16;  // features per GPU thread at a time

// Adds a row's features times their weights to kOuts outputs.
template <int kOuts>
CAUSEWAY_HOST_DEVICE void add_to_tile(const float (&waves)[kWaves], const float* weights,
                                      int stride, float* out) {
  of_device(out);
  float sum[kOuts];
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) sum[j] = out[static_cast<std::int64_t>(j) * stride];
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) {
    float factors[kWaves];
    load_tile(weights + j * kWaves, factors);
    CAUSEWAY_UNROLL
    for (int k = 0; k < kWaves; ++k) sum[j] = elementary::fma(waves[k], factors[k], sum[j]);
  }
  CAUSEWAY_UNROLL
  for (int j = 0; j < kOuts; ++j) out[static_cast<std::int64_t>(j) * stride] = sum[j];
}

CAUSEWAY_HOST_DEVICE void add_to_outputs(const float (&waves)[kWaves], const float* weights,
                                         Columns out, int row) {
  constexpr int kOuts = 4;
  float* to = out.data + row;
  int o = 0;
  for (; o + kOuts <= out.n_columns; o += kOuts, weights += kOuts * kWaves) {
    add_to_tile<kOuts>(waves, weights, out.stride, to);
    to += static_cast<std::int64_t>(kOuts) * out.stride;
  }
  CAUSEWAY_NO_UNROLL
  for (; o < out.n_columns; ++o, weights += kWaves, to += out.stride) {
    add_to_tile<1>(waves, weights, out.stride, to);
  }
}

// GPU: random features times their weights, without storing the features; a few at a time are added
// to all outputs.
template <class W>
CAUSEWAY_HOST_DEVICE void add_waves(W& w, Columns x, const float* frequencies, const float* phases,
                                    const float* weights, Columns out) {
  const int n_in = x.n_columns;
  const int n_out = out.n_columns;
  const int pitch = tiled(n_out);
  const Scratch scratch(w.arena);
  // The same amount as one CPU thread takes for its two products.
  float* transposed =
      w.arena.take(static_cast<std::int64_t>(kFrequencies) * (n_in > pitch ? n_in : pitch));
  if (w.arena.failed) return;
  transpose_factors(w, frequencies, n_in, kFrequencies, kFrequencies, transposed);
  constexpr int kHalf = W::Team::kStage / 2;
  const Stage of_inputs{w.team.stage(), kHalf};
  const Stage of_outputs{w.team.stage() + kHalf, kHalf};
  const int last = w.n_rows - 1;
  for (int o = 0; o < n_out; ++o) {
    for_each(w.team, w.n_rows, [&](int row) { out.column(o)[row] = 0.0f; });
  }
  for (int f = 0; f < kFrequencies; f += kWaves) {
    for (int batch = 0; batch < w.n_rows; batch += w.team.size()) {
      const int own = batch + w.team.rank();
      const int row = own < last ? own : last;
      float waves[kWaves] = {};
      with_staged<kWaves>(w, of_inputs, transposed + f, kFrequencies, n_in, batch > 0,
                          [&](int begin, int end, const float* factors) {
                            add_columns(x.slice(begin, end - begin), row, factors, kWaves, waves);
                          });
      float shifts[kWaves];
      load_tile(of_device(phases + f), shifts);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kWaves; ++k) waves[k] = cos_of(waves[k] + shifts[k]);
      with_staged<kWaves>(w, of_outputs, weights + f, kFrequencies, n_out, batch > 0,
                          [&](int begin, int end, const float* factors) {
                            if (own <= last) {
                              add_to_outputs(waves, factors, out.slice(begin, end - begin), row);
                            }
                          });
    }
  }
  w.team.sync();
}

// A Gaussian process approximated by 256 random Fourier features.
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
