// Activations of the mlp family: simple ones, and random Fourier series.
#pragma once

#include "causeway/prior/device/activation.h"
#include "causeway/prior/device/mlp_plan.h"

namespace causeway::prior {

inline constexpr int kFourierTerms = 256;

// The 18 simple activations, in the order of the reference implementation.
CAUSEWAY_HOST_DEVICE Activation simple_activation(int k) {
  constexpr Activation kSimple[] = {
      Activation::tanh,   Activation::leaky_relu, Activation::elu,         Activation::identity,
      Activation::selu,   Activation::silu,       Activation::relu,        Activation::softplus,
      Activation::relu6,  Activation::hardtanh,   Activation::sign,        Activation::rbf,
      Activation::exp,    Activation::relu_power, Activation::inside_unit, Activation::sin,
      Activation::square, Activation::magnitude};
  return kSimple[k];
}

// The sum below for a block of values. kNear: all angles are within the range reduction of the
// sine.
template <bool kNear, int kRows>
CAUSEWAY_HOST_DEVICE void add_sines(const float* terms, const float (&x)[kRows],
                                    float (&sum)[kRows]) {
  for (int first = 0; first < kFourierTerms; first += kTile) {
    float frequencies[kTile], phases[kTile], weights[kTile];
    load_tile(terms + first, frequencies);
    load_tile(terms + kFourierTerms + first, phases);
    load_tile(terms + 2 * kFourierTerms + first, weights);
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTile; ++k) {
      for (int b = 0; b < kRows; ++b) {
        const float angle = elementary::fma(frequencies[k], x[b], phases[k]);
        const float sine = kNear ? sin_within(angle) : sin_of(angle);
        sum[b] = elementary::fma(weights[k], sine, sum[b]);
      }
    }
  }
}

// sum_k weight_k sin(frequency_k x + phase_k), with weights that decrease with the frequency.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void fourier_activation(W& w, Columns x) {
  constexpr int kRows = W::Team::kRows;
  const Scratch scratch(w.arena);
  float* terms = w.arena.take(3 * kFourierTerms);
  if (w.arena.failed) return;
  float* frequencies = terms;
  float* phases = terms + kFourierTerms;
  float* weights = terms + 2 * kFourierTerms;
  const std::uint32_t site = w.next_site();
  const float decay = stretch(w.draws.uniform(w.next_site(), 0), {0.7f, 3.0f, true});
  for_each(w.team, kFourierTerms, [&](int k) {
    const Bits128 bits = w.draws.bits(site, static_cast<std::uint32_t>(k));
    frequencies[k] = static_cast<float>(kFourierTerms) * open_uniform(bits.word[0]);
    phases[k] = 6.28318531f * open_uniform(bits.word[1]);
    float normal, unused;
    normal_pair_f32(bits.word[2], bits.word[3], normal, unused);
    weights[k] = power(frequencies[k], -decay);
    // The magnitude of the normal is multiplied in once the norm of the weights is known.
    phases[k] += normal >= 0.0f ? 0.0f : 3.14159265f;
  });
  w.team.sync();
  float squares = 0.0f;
  for (int first = 0; first < kFourierTerms; first += kTile) {
    float some[kTile];
    load_tile(weights + first, some);
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTile; ++k) squares = elementary::fma(some[k], some[k], squares);
  }
  const float factor = 1.0f / elementary::square_root(squares);
  w.team.sync();
  for_each(w.team, kFourierTerms, [&](int k) {
    const Bits128 bits = w.draws.bits(site, static_cast<std::uint32_t>(k));
    float normal, unused;
    normal_pair_f32(bits.word[2], bits.word[3], normal, unused);
    weights[k] *= factor * elementary::magnitude(normal);
  });
  w.team.sync();
  note(w.team, "fourier_decay", decay);
  note_array(w.team, "fourier_frequencies", frequencies, kFourierTerms);
  note_array(w.team, "fourier_phases", phases, kFourierTerms);
  note_array(w.team, "fourier_weights", weights, kFourierTerms);
  // Frequencies are at most kFourierTerms, phases below 10.
  constexpr float kNear = (kFarthestAngle - 10.0f) / kFourierTerms * 0.99f;
  constexpr int kAtOnce = kRows < 8 ? kRows : 8;  // values that fit in CPU registers
  for_cells<kAtOnce>(w.team, w.n_rows, x.n_columns, [&](int row, int c) {
    float* column = x.column(c) + row;
    float values[kAtOnce];
    float sum[kAtOnce] = {};
    bool near = true;
    for (int b = 0; b < kAtOnce; ++b) {
      values[b] = column[b];
      near = near && elementary::magnitude(values[b]) <= kNear;
    }
    if (near)
      add_sines<true>(terms, values, sum);
    else
      add_sines<false>(terms, values, sum);
    for (int b = 0; b < kAtOnce; ++b) column[b] = sum[b];
  });
  w.team.sync();
}

// Standardise, scale and shift, activate.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void mlp_activation(W& w, const MlpPlan& plan, Columns x) {
  const Bits128 bits = w.draws.bits(w.next_site(), 0);
  const Bits128 pick = w.draws.bits(w.next_site(), 0);
  float log_scale, shift;
  normal_pair_f32(bits.word[0], bits.word[1], log_scale, shift);
  const float scale = elementary::exp(2.0f * log_scale);
  const float place = open_uniform(pick.word[0]) * plan.kinds[2 * kMlpKinds - 1];
  int kind = 0;
  while (kind < 2 * kMlpKinds - 1 && place >= plan.kinds[kind]) ++kind;
  if (kind >= kMlpKinds) kind = bounded(pick.word[1], kMlpKinds);
  const bool fourier = kind >= 18;
  const Activation activation = fourier ? Activation::identity : simple_activation(kind);
  const bool is_root = activation == Activation::relu_power;
  note(w.team, "activation", kind);
  note(w.team, "scale", scale);
  note(w.team, "shift", shift);
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    float* column = x.column(c);
    const Moments moments = moments_of(lanes, column, w.n_fit);
    const float inverse = 1.0f / (moments.deviation + 1e-6f);
    lanes.each(w.row_end(), [&](int i) {
      const float x_std = (column[i] - moments.mean) * inverse;
      const float moved = scale * (x_std + shift);
      // The square root of |x| is the only power used here.
      column[i] = is_root ? elementary::square_root(elementary::magnitude(moved)) : moved;
    });
    if (!is_root) activate_column(lanes, activation, 1.0f, column, w.row_end());
  });
  w.team.sync();
  if (fourier) fourier_activation(w, x);
}

}  // namespace causeway::prior
