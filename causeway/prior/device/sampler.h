// The scalars of a random structural causal model. Draws of the same name are correlated within a
// dataset: each name has its own distribution (a Beta distribution, or category weights), which is
// drawn once per dataset.
#pragma once

#include "causeway/prior/device/workspace.h"

namespace causeway::prior {

enum class Number : std::uint32_t {
  n_nodes,
  n_feature_nodes,
  category_limit,
  category_size,
  node_width,
  node_importance,
  weights_decay,
  weights_spread,
  mlp_width,
  mlp_layers,
  n_trees,
  tree_depth,
  n_centres,
  distance_power,
  gp_decay,
  gp_scale,
  em_components,
  em_spread,
  em_power,
  em_exponent,
  kernel_scale,
  relu_exponent,
  power_exponent,
  negative_exponent,
  integer_exponent,
  rescale,
  kumaraswamy_a,
  kumaraswamy_b,
  softmax_scale,
  mixture_centres,
  noise,
  n_numbers
};

enum class Choice : std::uint32_t {
  function,
  cheap_function,
  matrix,
  simple_matrix,
  activation,
  plain_activation,
  fixed_activation,
  activation_first,
  activation_last,
  product_kernel,
  base_points,
  covariance_points,
  numeric_converter,
  categorical_converter,
  categorical_wide,
  parents,
  aggregation,
  n_choices
};

inline constexpr int kMostCategories = 27;

enum class Mode : std::uint8_t { correlated, independent };

// The site of per-dataset distributions, by name; other sites count up from 0.
inline constexpr std::uint32_t kMetaSite = 0xffff0000u;

struct Range {
  float low;
  float high;
  bool logarithmic = false;
  bool mass_at_ends = false;  // 1/12 of the draws at either end
};

CAUSEWAY_HOST_DEVICE_CALL float stretch(float unit, const Range& range) {
  if (range.mass_at_ends) unit = clamped(1.2f * unit - 0.1f, 0.0f, 1.0f);
  const float low = range.logarithmic ? elementary::log(range.low) : range.low;
  const float high = range.logarithmic ? elementary::log(range.high) : range.high;
  const float value = elementary::fma(high - low, unit, low);
  return range.logarithmic ? elementary::exp(value) : value;
}

// Parameters of a name's Beta distribution.
struct Law {
  float a;
  float b;
};

CAUSEWAY_HOST_DEVICE Law law_from(const Bits128& bits) {
  const float place = open_uniform(bits.word[0]);
  const float weight = stretch(open_uniform(bits.word[1]), {0.1f, 1e4f, true});
  return {place * weight, (1.0f - place) * weight};
}

CAUSEWAY_HOST_DEVICE_CALL Law law_of(const Draws& draws, Number name) {
  return law_from(draws.bits(kMetaSite, static_cast<std::uint32_t>(name)));
}

// Number `at` of a site.
CAUSEWAY_HOST_DEVICE_CALL float number_at(const Draws& draws, Number name, const Range& range,
                                          Mode mode, std::uint32_t site, std::uint32_t at) {
  if (mode == Mode::independent) return stretch(draws.uniform(site, at), range);
  const Law law = law_of(draws, name);
  return stretch(draws.beta(law.a, law.b, site, at), range);
}

// A Beta variate that all callers need. In a whole warp the even lanes draw one Gamma variate and
// the odd lanes the other, in the time of one.
CAUSEWAY_HOST_DEVICE_CALL float common_beta(const Draws& draws, Law law, std::uint32_t site) {
#if defined(__CUDA_ARCH__)
  if (__activemask() == 0xffffffffu) {
    const bool odd = threadIdx.x % 2 == 1;
    const float own = draws.log_gamma(at_least(odd ? law.b : law.a, 1e-6f), site, odd ? 1 : 0);
    const float other = __shfl_xor_sync(0xffffffffu, own, 1);
    return odd ? beta_of(other, own) : beta_of(own, other);
  }
#endif
  return draws.beta(law.a, law.b, site, 0);
}

template <class W>
CAUSEWAY_HOST_DEVICE float number(W& w, Number name, const Range& range,
                                  Mode mode = Mode::correlated) {
  const std::uint32_t site = w.next_site();
  if (mode == Mode::independent) return number_at(w.draws, name, range, mode, site, 0);
  const auto draw = [&] {
    return stretch(common_beta(w.draws, law_of(w.draws, name), site), range);
  };
  if constexpr (requires { w.team; })
    return w.team.for_all(draw);
  else
    return draw();
}

// Integer in [low, high).
template <class W>
CAUSEWAY_HOST_DEVICE int integer(W& w, Number name, int low, int high, bool logarithmic = false,
                                 Mode mode = Mode::correlated, bool mass_at_ends = false) {
  const Range range{static_cast<float>(low), static_cast<float>(high), logarithmic, mass_at_ends};
  const int drawn = static_cast<int>(floor_of(number(w, name, range, mode)));
  return drawn < low ? low : (drawn > high - 1 ? high - 1 : drawn);
}

// Distributions of the decay and the spread of the weights below: Beta variates, each from two
// Gamma variates.
struct WeightLaws {
  Law decay;
  Law spread;

  // The logarithm of Gamma variate k of those four.
  CAUSEWAY_HOST_DEVICE float log_gamma(const Draws& draws, std::uint32_t site, std::uint32_t row,
                                       int k) const {
    const Law law = k < 2 ? decay : spread;
    return draws.log_gamma(at_least(k % 2 == 0 ? law.a : law.b, 1e-6f), site,
                           8 * row + static_cast<std::uint32_t>(k));
  }
};

// log w_i = -decay ln(i) + spread N(0, 1) for i = 1 ... n, in random order; scaled to positive
// weights of Euclidean norm sqrt(n). Each row of a site has its own decay and spread, computed from
// log_gamma(k). The lanes share one row.
template <class Lanes, class LogGamma, class F>
CAUSEWAY_HOST_DEVICE_CALL void draw_weights_by(const Lanes& lanes, const Draws& draws,
                                               std::uint32_t site, std::uint32_t row, int n,
                                               const LogGamma& log_gamma, const F& weight) {
  float logs[4];
  lanes.in_order(4, log_gamma, [&](int k, float value) {
    CAUSEWAY_UNROLL
    for (int j = 0; j < 4; ++j) logs[j] = j == k ? value : logs[j];
  });
  const Range decays{0.1f / elementary::log(1.0f + static_cast<float>(n)), 6.0f, true, true};
  const float decay = stretch(beta_of(logs[0], logs[1]), decays);
  const float spread = stretch(beta_of(logs[2], logs[3]), {1e-4f, 10.0f, true});
  const std::uint32_t bulk = site ^ 0x80000000u;  // distinct from counted sites
  lanes.each((n + 3) / 4, [&](int block) {
    float values[4];
    normals_of(draws.bits(bulk, row, static_cast<std::uint32_t>(block)), values);
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      const int i = 4 * block + k;
      const float place = static_cast<float>(i + 1);
      if (i < n) weight(i) = elementary::fma(spread, values[k], -decay * elementary::log(place));
    }
  });
  lanes.sync();
  const float greatest = lanes.greatest(n, -3.4e38f, [&](int i) { return weight(i); });
  lanes.sync();
  const std::uint32_t shuffle = site ^ 0xc0000000u;
  lanes.swap_downward(
      n,
      [&](int i) {
        return bounded(draws.bits(shuffle, row, static_cast<std::uint32_t>(i)).word[0], i + 1);
      },
      weight);
  lanes.sync();
  float squares = 0.0f;
  lanes.in_order(
      n,
      [&](int i) {
        const float value = elementary::exp(weight(i) - greatest);
        weight(i) = value;
        return value;
      },
      [&](int, float value) { squares = elementary::fma(value, value, squares); });
  const float scale = elementary::square_root(static_cast<float>(n) / squares);
  lanes.sync();
  lanes.each(n, [&](int i) { weight(i) = weight(i) * scale; });
  lanes.sync();
}

template <class Lanes, class F>
CAUSEWAY_HOST_DEVICE void draw_weights(const Lanes& lanes, const Draws& draws, std::uint32_t site,
                                       std::uint32_t row, int n, const WeightLaws& laws,
                                       const F& weight) {
  draw_weights_by(
      lanes, draws, site, row, n, [&](int k) { return laws.log_gamma(draws, site, row, k); },
      weight);
}

CAUSEWAY_HOST_DEVICE WeightLaws weight_laws(const Draws& draws) {
  return {law_of(draws, Number::weights_decay), law_of(draws, Number::weights_spread)};
}

template <class Lanes, class F>
CAUSEWAY_HOST_DEVICE void draw_weights(const Lanes& lanes, const Draws& draws, std::uint32_t site,
                                       std::uint32_t row, int n, const F& weight) {
  draw_weights(lanes, draws, site, row, n, weight_laws(draws), weight);
}

// Cumulative probabilities of the categories of each choice; shared by the team.
struct ChoiceTable {
  float cumulative[static_cast<int>(Choice::n_choices)][kMostCategories];
};

CAUSEWAY_HOST_DEVICE int categories_of(Choice choice) {
  switch (choice) {
    case Choice::function: return 8;
    case Choice::cheap_function:
    case Choice::matrix: return 5;
    case Choice::simple_matrix:
    case Choice::base_points:
    case Choice::aggregation: return 4;
    case Choice::activation: return 6;
    case Choice::plain_activation: return 12;
    case Choice::fixed_activation: return 27;
    case Choice::categorical_converter: return 7;
    default: return 2;
  }
}

// `even`: uniform probabilities, as in the reference implementation.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_choices(W& w, bool even, ChoiceTable& table) {
  w.team.columns(static_cast<int>(Choice::n_choices), [&](int name, const auto& lanes) {
    const int n = categories_of(static_cast<Choice>(name));
    float* weights = table.cumulative[name];
    if (even) {
      lanes.each(n, [&](int i) { weights[i] = 1.0f; });
      lanes.sync();
    } else {
      const auto at = static_cast<std::uint32_t>(name);
      const WeightLaws laws{law_from(w.draws.bits(kMetaSite + 1, at)),
                            law_from(w.draws.bits(kMetaSite + 2, at))};
      draw_weights(lanes, w.draws, kMetaSite + 3, at, n, laws,
                   [&](int i) -> float& { return weights[i]; });
    }
    if (!lanes.is_leader()) return;
    for (int i = 1; i < n; ++i) weights[i] += weights[i - 1];
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL int choose(W& w, Choice choice) {
  const int n = categories_of(choice);
  const float* cumulative = w.choices->cumulative[static_cast<int>(choice)];
  const float at = w.draws.uniform(w.next_site(), 0) * cumulative[n - 1];
  int chosen = 0;
  while (chosen < n - 1 && at >= cumulative[chosen]) ++chosen;
  return chosen;
}

}  // namespace causeway::prior
