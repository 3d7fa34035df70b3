// A dataset of the mlp family: causes, sent through a random network; features and target are its
// causes and its output, or, if the network is causal, some of its inner values.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/node.h"

namespace causeway::prior {

inline constexpr int kMostHidden = 512;
inline constexpr int kMostLayers = 16;
inline constexpr int kFourierTerms = 256;
inline constexpr int kMlpKinds = 28;  // 18 simple activations, and ten times random Fourier series

enum class CauseLaw : std::uint8_t { normal, mixed, uniform };

struct MlpPlan {
  bool is_causal;
  bool y_is_effect;
  bool in_clique;
  bool sort_features;
  bool fixed_causes;  // each cause has a mean and a deviation of its own
  bool fixed_noise;   // each unit has a deviation of its own
  bool blocks;        // weights in blocks along the diagonal
  bool by_rank;       // class boundaries are values of random rows
  CauseLaw law;
  int n_causes;
  int n_layers;
  int n_hidden;
  float dropout;
  float weight_deviation;
  float noise;
  int n_features;
  float kinds[2 * kMlpKinds];  // how likely each activation is, added up
};

// exp(U(ln low, ln high)).
CAUSEWAY_HOST_DEVICE float log_uniform(PlanDraws& d, float low, float high) {
  return stretch(d.uniform(), {low, high, true});
}

// A normal number above 0 whose mean and relative deviation are drawn themselves.
CAUSEWAY_HOST_DEVICE_CALL float positive_normal(PlanDraws& d, float low, float high) {
  const float mean = log_uniform(d, low, high);
  const float deviation = mean * log_uniform(d, 0.01f, 1.0f);
  const std::uint32_t site = d.next_site();
  for (std::uint32_t round = 0; round < 32; ++round) {
    const float value = elementary::fma(deviation, d.draws.normal(site, round), mean);
    if (value >= 0.0f) return value;
  }
  return mean;
}

// One of two, with a log-odds between -4 and 4 or so.
CAUSEWAY_HOST_DEVICE_CALL bool biased_coin(PlanDraws& d) {
  const float other = elementary::fma(8.0f, d.uniform(), -3.0f);
  return edge_drawn(1.0f - other, d.uniform());
}

CAUSEWAY_HOST_DEVICE_CALL void draw_mlp_plan(const Draws& draws, int n_features, MlpPlan& plan) {
  PlanDraws d{draws, kPlanSite, nullptr};
  plan.n_features = n_features;
  plan.is_causal = d.below(2) == 1;
  plan.y_is_effect = biased_coin(d);
  plan.in_clique = biased_coin(d);
  plan.sort_features = biased_coin(d);
  plan.fixed_causes = biased_coin(d);
  plan.fixed_noise = biased_coin(d);
  plan.blocks = biased_coin(d);
  plan.by_rank = biased_coin(d);
  const float odds[3] = {1.0f, elementary::fma(8.0f, d.uniform(), -3.0f),
                         elementary::fma(8.0f, d.uniform(), -3.0f)};
  const float weights[3] = {elementary::exp(odds[0]), elementary::exp(odds[1]),
                            elementary::exp(odds[2])};
  const float place = d.uniform() * (weights[0] + weights[1] + weights[2]);
  plan.law = place < weights[0]
                 ? CauseLaw::normal
                 : (place < weights[0] + weights[1] ? CauseLaw::mixed : CauseLaw::uniform);
  const float a = elementary::fma(4.9f, d.uniform(), 0.1f);
  const float b = elementary::fma(4.9f, d.uniform(), 0.1f);
  plan.dropout = 0.9f * d.draws.beta(a, b, d.next_site(), 0);
  const float causes = positive_normal(d, 1.0f, 12.0f);
  const float layers = positive_normal(d, 1.0f, 6.0f);
  const float hidden = positive_normal(d, 5.0f, 130.0f);
  const auto rounded = [](float x, int low, int high) {
    const int value = low + static_cast<int>(elementary::nearest(at_most(x, 1e5f)));
    return value < high ? value : high;
  };
  plan.n_causes = plan.is_causal ? rounded(causes, 1, kMostHidden) : n_features;
  plan.n_layers = rounded(layers, 2, kMostLayers);
  plan.n_hidden = rounded(hidden, 4, kMostHidden);
  if (plan.is_causal && plan.n_hidden < 1 + 2 * n_features) plan.n_hidden = 1 + 2 * n_features;
  plan.weight_deviation = positive_normal(d, 0.01f, 10.0f);
  plan.noise = positive_normal(d, 1e-4f, 0.3f);
}

// The rest of the plan, which many draw while one draws the above.
template <class Lanes>
CAUSEWAY_HOST_DEVICE_CALL void draw_mlp_kinds(const Lanes lanes, const Draws& draws,
                                              MlpPlan& plan) {
  constexpr std::uint32_t kFirstSite = kPlanSite + 36;  // as many come before
  float total = 0.0f;
  lanes.in_turn(
      2 * kMlpKinds,
      [&](int k) {
        const auto site = kFirstSite + static_cast<std::uint32_t>(k) - 1;
        return elementary::exp(k == 0 ? 1.0f
                                      : elementary::fma(11.0f, draws.uniform(site, 0), -5.0f));
      },
      [&](int k, float weight) {
        total += weight;
        if (lanes.leads()) plan.kinds[k] = total;
      });
}

// The causes: normal, uniform, or of a law drawn for each.
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
    } else if (law == 2) {  // P(k) ~ k^-exponent; 10 stands for all beyond
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
    lanes.meet();
    const Moments moments = moments_of(lanes, column, w.n_fit);
    const float scale = law == 1 ? 1.0f / (moments.deviation + 1e-6f) : 1.0f;
    lanes.each(w.row_end(), [&](int i) { column[i] = (column[i] - moments.mean) * scale; });
  });
  w.team.sync();
}

// (out, in) weights and a bias each: in blocks along the diagonal, or with some left out.
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

// The 18 simple ones, in the reference's order.
CAUSEWAY_HOST_DEVICE Activation simple_activation(int k) {
  constexpr Activation kSimple[] = {
      Activation::tanh,   Activation::leaky_relu, Activation::elu,         Activation::identity,
      Activation::selu,   Activation::silu,       Activation::relu,        Activation::softplus,
      Activation::relu6,  Activation::hardtanh,   Activation::sign,        Activation::rbf,
      Activation::exp,    Activation::relu_power, Activation::inside_unit, Activation::sin,
      Activation::square, Activation::magnitude};
  return kSimple[k];
}

// The sum below for some numbers, whose angles all lie within the sine's reach if they are kNear.
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

// sum_k weight_k sin(frequency_k x + phase_k), the weights falling with the frequency.
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
    // The normal number joins when the weights' length is known.
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
  constexpr int kAtOnce = kRows < 8 ? kRows : 8;  // that a CPU's registers hold beside the rest
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
      // The root of |x| is the only power here.
      column[i] = is_root ? elementary::square_root(elementary::magnitude(moved)) : moved;
    });
    if (!is_root) activate_column(lanes, activation, 1.0f, column, w.row_end());
  });
  w.team.sync();
  if (fourier) fourier_activation(w, x);
}

// + bias, and noise where it is wanted. `deviations` is room for a number each column.
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

// do(feature = value) where the network's unit is a feature.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void force_unit(W& w, float value, float* column) {
  for_each(w.team, w.row_end(), [&](int row) {
    if (in_other_world(w, row)) column[row] = value;
  });
  w.team.sync();
}

// Which inner value each feature and the target (the last) is; of `n` values.
CAUSEWAY_HOST_DEVICE_CALL void pick_units(const Draws& draws, std::uint32_t site,
                                          const MlpPlan& plan, int n, std::int32_t* units) {
  const int n_features = plan.n_features;
  const int n_picked = n_features + 1;
  if (plan.in_clique) {  // neighbours, in random order
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
  // The first is the target's; features follow in order, if they are sorted.
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

// Features and target (the last column) of a plan.
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
    if (layer > 0) {  // activations work in place, but a causal network keeps its inner values
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
    add_noise(w, plan, other, layer > 0, biases, weights, to);  // whose weights are used up
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
