// The plan of a dataset of the mlp family: network shape, causes, weights.
#pragma once

#include "causeway/prior/device/scm.h"

namespace causeway::prior {

inline constexpr int kMostHidden = 512;
inline constexpr int kMostLayers = 16;
inline constexpr int kMlpKinds = 28;  // 18 simple activations, and 10 times Fourier series

enum class CauseLaw : std::uint8_t { normal, mixed, uniform };

struct MlpPlan {
  bool is_causal;
  bool y_is_effect;
  bool in_clique;
  bool sort_features;
  bool fixed_causes;  // each cause has its own mean and deviation
  bool fixed_noise;   // each unit has its own deviation
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
  float kinds[2 * kMlpKinds];  // cumulative probabilities of the activations
};

// exp(U(ln low, ln high)).
CAUSEWAY_HOST_DEVICE float log_uniform(PlanDraws& d, float low, float high) {
  return stretch(d.uniform(), {low, high, true});
}

// A positive normal variate whose mean and relative deviation are random.
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

// A coin with log-odds between about -4 and 4.
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

// The rest of the plan, drawn by many lanes while one draws the part above.
template <class Lanes>
CAUSEWAY_HOST_DEVICE_CALL void draw_mlp_kinds(const Lanes lanes, const Draws& draws,
                                              MlpPlan& plan) {
  constexpr std::uint32_t kFirstSite = kPlanSite + 36;  // sites used by the part above
  float total = 0.0f;
  lanes.in_order(
      2 * kMlpKinds,
      [&](int k) {
        const auto site = kFirstSite + static_cast<std::uint32_t>(k) - 1;
        return elementary::exp(k == 0 ? 1.0f
                                      : elementary::fma(11.0f, draws.uniform(site, 0), -5.0f));
      },
      [&](int k, float weight) {
        total += weight;
        if (lanes.is_leader()) plan.kinds[k] = total;
      });
}

}  // namespace causeway::prior
