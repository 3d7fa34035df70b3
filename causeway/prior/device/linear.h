// A dataset of the linear family: columns that may share factors, and a target that is a weighted
// sum of many of them, exactly or nearly, plus noise.
#pragma once

#include "causeway/prior/device/mlp.h"

namespace causeway::prior {

enum class Bend : std::uint8_t { none, square, tanh, product };

inline constexpr int kMostFactors = 8;

struct LinearPlan {
  bool balanced;      // classes of equal size
  Bend bend;          // the part that is not linear
  float bent;         // its weight
  int n_factors;      // 0: independent columns
  float shared_part;  // fraction of a column's variance that comes from the factors
  float dense;        // fraction of columns with an effect
  float evenness;     // exponent of the effects: 0 equal sizes, above 1 a few large ones
  float noise;        // standard deviation; that of the sum is 1
};

CAUSEWAY_HOST_DEVICE_CALL void draw_linear_plan(const Draws& draws, LinearPlan& plan) {
  PlanDraws d{draws, kPlanSite + 0x2000u, nullptr};
  plan.balanced = d.below(2) == 1;
  const bool is_bent = d.below(2) == 1;
  plan.bend = is_bent ? static_cast<Bend>(1 + d.below(3)) : Bend::none;
  plan.bent = 0.4f * d.uniform();
  const bool has_factors = d.below(2) == 1;
  plan.n_factors = has_factors ? 1 + d.below(kMostFactors) : 0;
  plan.shared_part = 0.95f * d.uniform();
  const bool is_dense = d.below(2) == 1;
  plan.dense = is_dense ? 1.0f : d.uniform();
  plan.evenness = 3.0f * d.uniform();
  plan.noise = log_uniform(d, 0.01f, 2.0f);
}

// Adds a random combination of common factors to each column.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void share_factors(W& w, const LinearPlan& plan, Columns x) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t load_site = w.next_site();
  const Columns factors = w.take_columns(kMostFactors);
  if (w.arena.failed || plan.n_factors == 0) return;
  for_cells<1>(w.team, w.row_end(), kMostFactors / 4, [&](int row, int four) {
    float values[4];
    normals_of(w.draws.bits(site, w.drawn_row(row), static_cast<std::uint32_t>(four)), values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) factors.column(4 * four + k)[row] = values[k];
  });
  w.team.sync();
  const float own = elementary::square_root(1.0f - plan.shared_part);
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    float loads[kMostFactors];
    float squares = 0.0f;
    for (int k = 0; k < plan.n_factors; ++k) {
      loads[k] =
          w.draws.normal(load_site, static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(k));
      squares = elementary::fma(loads[k], loads[k], squares);
    }
    const float scale = elementary::square_root(plan.shared_part / at_least(squares, 1e-6f));
    float* column = x.column(c);
    lanes.each(w.row_end(), [&](int row) {
      float sum = 0.0f;
      for (int k = 0; k < plan.n_factors; ++k) {
        sum = elementary::fma(loads[k], factors.column(k)[row], sum);
      }
      column[row] = elementary::fma(scale, sum, own * column[row]);
    });
  });
  w.team.sync();
}

// The effect of each column; the first always has one.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_effects(W& w, const LinearPlan& plan, int n, float* effects) {
  const std::uint32_t site = w.next_site();
  for_each(w.team, n, [&](int c) {
    const Bits128 bits = w.draws.bits(site, static_cast<std::uint32_t>(c));
    float drawn, unused;
    normal_pair_f32(bits.word[0], bits.word[1], drawn, unused);
    const float size = power(elementary::magnitude(drawn), plan.evenness);
    const bool kept = c == 0 || open_uniform(bits.word[2]) < plan.dense;
    effects[c] = kept ? (drawn < 0.0f ? -size : size) : 0.0f;
  });
  w.team.sync();
}

// Evaluates features and target (last column). `causes` has the distribution of the columns.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_linear(W& w, const LinearPlan& plan, const MlpPlan& causes,
                                               const OtherWorld& other, Columns out) {
  const int n = causes.n_features;
  const Columns x = out.slice(0, n);
  float* target = out.column(n);
  float* effects = w.arena.take(n);
  if (w.arena.failed) return;
  draw_causes(w, causes, x);
  standardise(w, x);
  share_factors(w, plan, x);
  if (w.arena.failed) return;
  const Intervention forced = other.wanted ? other.intervention : Intervention{};
  if (forced.column >= 0 && forced.column < n) force_unit(w, forced.value, x.column(forced.column));
  draw_effects(w, plan, n, effects);
  for_each(w.team, w.row_end(), [&](int row) {
    float sum = 0.0f;
    for (int c = 0; c < n; ++c) sum = elementary::fma(effects[c], x.column(c)[row], sum);
    target[row] = sum;
  });
  w.team.sync();
  standardise(w, out.slice(n, 1));
  const std::uint32_t noise_site = w.next_site();
  const Bits128 pair = w.draws.bits(w.next_site(), 0);
  const float* a = x.column(bounded(pair.word[0], n));
  const float* b = x.column(bounded(pair.word[1], n));
  for_each(w.team, w.row_end(), [&](int row) {
    const float sum = target[row];
    float more = 0.0f;
    if (plan.bend == Bend::square) more = sum * sum;
    if (plan.bend == Bend::tanh) more = elementary::tanh(2.0f * sum);
    if (plan.bend == Bend::product) more = a[row] * b[row];
    float value = elementary::fma(plan.bent, more, sum);
    if (!(other.noiseless && in_other_world(w, row))) {
      value = elementary::fma(plan.noise, w.draws.normal(noise_site, w.drawn_row(row)), value);
    }
    target[row] = value;
  });
  w.team.sync();
}

}  // namespace causeway::prior
