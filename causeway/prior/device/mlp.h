// A dataset of the mlp family: causes are fed through a random network. Features and target are the
// causes and the output or, in a causal network, some of the hidden values.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/mlp_activation.h"
#include "causeway/prior/device/node.h"

namespace causeway::prior {

// The causes: normal, uniform, or from a distribution drawn per cause.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_causes(W& w, const MlpPlan& plan, Columns out) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t law_site = w.next_site();
  const std::uint32_t weight_site = w.next_site();
  const Bits128 limits = w.draws.bits(w.next_site(), 0);
  const float zipf_share = 0.66f * open_uniform(limits.word[0]);
  const float category_share = 0.66f * open_uniform(limits.word[1]);
  const float normal_share = 0.66f * open_uniform(limits.word[2]);
  w.team.columns(out.n_columns, [&](int c, const auto& lanes) {
    const auto at = static_cast<std::uint32_t>(c);
    const Bits128 own = w.draws.bits(law_site, at, 0);
    const Bits128 sizes = w.draws.bits(law_site, at, 1);
    float mean, factor;
    normal_pair_f32(sizes.word[0], sizes.word[1], mean, factor);
    const float deviation = elementary::magnitude(factor * mean);
    int law = plan.law == CauseLaw::uniform ? 3 : 0;  // normal, categories, Zipf, uniform
    if (plan.law == CauseLaw::mixed && open_uniform(own.word[0]) <= normal_share) {
      law = 1;
      if (open_uniform(own.word[1]) <= category_share) {
        law = open_uniform(own.word[2]) > zipf_share ? 2 : 3;
      }
    }
    const int n_categories = 2 + bounded(own.word[3], 19);
    const float exponent = 2.0f + 2.0f * open_uniform(sizes.word[2]);
    float cumulative[20];
    float total = 0.0f;
    if (law == 1) {
      for (int k = 0; k < n_categories; ++k) {
        total += w.draws.uniform(weight_site, at, static_cast<std::uint32_t>(k));
        cumulative[k] = total;
      }
    } else if (law == 2) {  // P(k) ~ k^-exponent, truncated at 10
      for (int k = 0; k < 10; ++k) {
        const float term = power(static_cast<float>(k + 1), -exponent);
        total += k < 9 ? term : 10.0f * term / (exponent - 1.0f);
        cumulative[k] = total;
      }
    }
    float* column = out.column(c);
    lanes.each(w.row_end(), [&](int row) {
      const Bits128 bits = w.draws.bits(site, w.drawn_row(row), at);
      if (law == 0) {
        float value, unused;
        normal_pair_f32(bits.word[0], bits.word[1], value, unused);
        column[row] = plan.fixed_causes ? elementary::fma(deviation, value, mean) : value;
      } else if (law == 3) {
        column[row] = open_uniform(bits.word[0]);
      } else {
        const float place = open_uniform(bits.word[0]) * total;
        const int last = law == 1 ? n_categories - 1 : 9;
        int k = 0;
        while (k < last && place >= cumulative[k]) ++k;
        column[row] = static_cast<float>(law == 1 ? k : k + 1);
      }
    });
    if (law != 1 && law != 2) return;
    lanes.sync();
    const Moments moments = moments_of(lanes, column, w.n_fit);
    const float scale = law == 1 ? 1.0f / (moments.deviation + 1e-6f) : 1.0f;
    lanes.each(w.row_end(), [&](int i) { column[i] = (column[i] - moments.mean) * scale; });
  });
  w.team.sync();
}

// Weights (out, in) and biases: block-diagonal, or with dropout.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_layer(W& w, const MlpPlan& plan, bool first, int n_in,
                                          int n_out, float* weights, float* biases) {
  const std::int64_t n_weights = static_cast<std::int64_t>(n_in) * n_out;
  fill_normals(w, w.next_site(), weights, n_weights);
  const int least = n_in < n_out ? n_in : n_out;
  const int most = static_cast<int>(elementary::square_root(static_cast<float>(least)) + 0.999f);
  const int n_blocks = 1 + bounded(w.draws.bits(w.next_site(), 0).word[0], most);
  const int high = n_out / n_blocks;
  const int wide = n_in / n_blocks;
  const float kept = static_cast<float>(n_blocks) * static_cast<float>(high) *
                     static_cast<float>(wide) / static_cast<float>(n_weights);
  const float left_out = first ? 0.0f : plan.dropout;
  const float scale =
      plan.weight_deviation / elementary::square_root(plan.blocks ? kept : 1.0f - left_out);
  const float bound = 1.0f / elementary::square_root(static_cast<float>(n_in));
  const std::uint32_t keep_site = w.next_site();
  const std::uint32_t bias_site = w.next_site();
  const int n_fours = (n_in + 3) / 4;
  for_each(w.team, n_out * n_fours, [&](int at) {
    const int o = at / n_fours;
    const int four = at - o * n_fours;
    const auto row = static_cast<std::uint32_t>(o);
    if (four == 0) biases[o] = bound * (2.0f * w.draws.uniform(bias_site, row) - 1.0f);
    const bool drops = !plan.blocks && left_out > 0.0f;
    const Bits128 bits =
        drops ? w.draws.bits(keep_site, row, static_cast<std::uint32_t>(four)) : Bits128{};
    const int block = plan.blocks ? o / high : 0;
    float* of = weights + static_cast<std::int64_t>(o) * n_in;
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int i = 4 * four + k;
      if (i >= n_in) continue;
      bool keep = !drops || open_uniform(bits.word[k]) >= left_out;
      if (plan.blocks) keep = block < n_blocks && i >= block * wide && i < (block + 1) * wide;
      of[i] *= keep ? scale : 0.0f;
    }
  });
  w.team.sync();
}

// Adds the bias, and noise if enabled. `deviations` has room for one value per column.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void add_noise(W& w, const MlpPlan& plan, const OtherWorld& other,
                                         bool noisy, const float* biases, float* deviations,
                                         Columns x) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t deviation_site = w.next_site();
  const bool fixed = noisy && plan.fixed_noise;
  if (fixed) {
    for_each(w.team, x.n_columns, [&](int c) {
      const float drawn = w.draws.normal(deviation_site, static_cast<std::uint32_t>(c));
      deviations[c] = elementary::magnitude(plan.noise * drawn);
    });
    w.team.sync();
  }
  for_cells<1>(w.team, w.row_end(), (x.n_columns + 3) / 4, [&](int row, int four) {
    float values[4] = {};
    if (noisy && !(other.noiseless && in_other_world(w, row))) {
      normals_of(w.draws.bits(site, w.drawn_row(row), static_cast<std::uint32_t>(four)), values);
    }
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int c = 4 * four + k;
      if (c >= x.n_columns) continue;
      float* to = x.column(c) + row;
      const float deviation = fixed ? deviations[c] : plan.noise;
      *to = elementary::fma(deviation, values[k], *to + biases[c]);
    }
  });
  w.team.sync();
}

// do(feature = value) on the unit that is read as the feature.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void force_unit(W& w, float value, float* column) {
  for_each(w.team, w.row_end(), [&](int row) {
    if (in_other_world(w, row)) column[row] = value;
  });
  w.team.sync();
}

// Selects the hidden value of each feature and of the target (last) among `n` values.
CAUSEWAY_HOST_DEVICE_CALL void pick_units(const Draws& draws, std::uint32_t site,
                                          const MlpPlan& plan, int n, std::int32_t* units) {
  const int n_features = plan.n_features;
  const int n_picked = n_features + 1;
  if (plan.in_clique) {  // consecutive units, in random order
    const int start = bounded(draws.bits(site, 0).word[0], n - n_features);
    for (int i = 0; i < n_picked; ++i) units[i] = start + i;
    for (int i = n_picked - 1; i > 0; --i) {
      const int j = bounded(draws.bits(site, 1, static_cast<std::uint32_t>(i)).word[0], i + 1);
      const std::int32_t unit = units[i];
      units[i] = units[j];
      units[j] = unit;
    }
  } else {
    const Order order(draws, site, n - 1);
    for (int i = 0; i < n_picked; ++i) units[i] = order(i);
  }
  // The first unit is the target's; features follow, sorted if requested.
  const std::int32_t target = plan.y_is_effect ? n - 1 : units[0];
  for (int i = 0; i < n_features; ++i) units[i] = units[i + 1];
  units[n_features] = target;
  if (!plan.sort_features) return;
  for (int i = 1; i < n_features; ++i) {
    const std::int32_t unit = units[i];
    int at = i;
    for (; at > 0 && units[at - 1] > unit; --at) units[at] = units[at - 1];
    units[at] = unit;
  }
}

// Evaluates the features and the target (last column) of a plan.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_mlp(W& w, const MlpPlan& plan, const OtherWorld& other,
                                            Columns out) {
  const int n_features = plan.n_features;
  const Columns causes = w.take_columns(plan.n_causes);
  const int n_inner = plan.is_causal ? (plan.n_layers - 1) * plan.n_hidden : 0;
  Columns inner = w.take_columns(n_inner);
  const Columns ping = w.take_columns(plan.n_hidden);
  const Columns pong = w.take_columns(plan.n_hidden);
  auto* units = reinterpret_cast<std::int32_t*>(w.arena.take(n_features + 1));
  const int widest = plan.n_hidden > plan.n_causes ? plan.n_hidden : plan.n_causes;
  float* weights = take_normals(w, static_cast<std::int64_t>(widest) * plan.n_hidden);
  float* biases = w.arena.take(plan.n_hidden);
  if (w.arena.failed) return;
  const Intervention forced = other.wanted ? other.intervention : Intervention{};
  draw_causes(w, plan, causes);
  const std::uint32_t unit_site = w.next_site();
  if (plan.is_causal && w.team.rank() == 0) pick_units(w.draws, unit_site, plan, n_inner, units);
  w.team.sync();
  for (int c = 0; plan.is_causal && c <= n_features; ++c) note(w.team, "unit", units[c]);
  if (!plan.is_causal) {
    if (forced.column >= 0 && forced.column < n_features) {
      force_unit(w, forced.value, causes.column(forced.column));
    }
    copy(w, causes, out.slice(0, n_features));
  }
  Columns from = causes;
  for (int layer = 0; layer < plan.n_layers; ++layer) {
    const Columns to = plan.is_causal && layer > 0
                           ? inner.slice((layer - 1) * plan.n_hidden, plan.n_hidden)
                           : (layer % 2 == 0 ? ping : pong);
    Columns input = from;
    if (layer > 0) {  // activations are in place, but a causal network keeps its hidden values
      if (plan.is_causal) {
        input = layer % 2 == 0 ? ping : pong;
        copy(w, from, input.slice(0, from.n_columns));
        input = input.slice(0, from.n_columns);
      }
      mlp_activation(w, plan, input);
      if (w.arena.failed) return;
    }
    draw_layer(w, plan, layer == 0, input.n_columns, plan.n_hidden, weights, biases);
    multiply(w, input, weights, to);
    add_noise(w, plan, other, layer > 0, biases, weights, to);  // `weights` is reused as scratch
    if (plan.is_causal && layer > 0 && forced.column >= 0) {
      const int unit = units[forced.column];
      const int first = (layer - 1) * plan.n_hidden;
      if (unit >= first && unit < first + plan.n_hidden) {
        force_unit(w, forced.value, inner.column(unit));
      }
    }
    from = to;
  }
  if (plan.is_causal) {
    for (int c = 0; c <= n_features; ++c) copy(w, inner.slice(units[c], 1), out.slice(c, 1));
    return;
  }
  mlp_activation(w, plan, from);
  if (w.arena.failed) return;
  draw_layer(w, plan, false, plan.n_hidden, 1, weights, biases);
  multiply(w, from, weights, out.slice(n_features, 1));
  add_noise(w, plan, other, true, biases, weights, out.slice(n_features, 1));
}

}  // namespace causeway::prior
