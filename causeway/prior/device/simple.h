// A dataset of the simple family: uniform features, and a target that is a sum of one term per
// feature: sin, cos, tanh, exp or identity of the scaled and shifted feature.
#pragma once

#include "causeway/prior/device/draws.h"

namespace causeway::prior {

enum class Term : std::uint8_t { sine, cosine, tanh, exp, identity };
inline constexpr int kTerms = 5;

// The contribution of a feature to the target.
struct SimpleTerm {
  float weight;
  float scale;
  float shift;
  Term kind;
};

inline constexpr std::uint32_t kTermSite = 0x20000000u;
inline constexpr std::uint32_t kFeatureSite = 0x20000001u;

CAUSEWAY_HOST_DEVICE SimpleTerm simple_term(const Draws& draws, int feature) {
  const Bits128 bits = draws.bits(kTermSite, static_cast<std::uint32_t>(feature));
  const float weight = 4.0f * open_uniform(bits.word[0]) - 2.0f;
  const float scale = 0.5f + 1.5f * open_uniform(bits.word[1]);
  const float shift = 2.0f * open_uniform(bits.word[2]) - 1.0f;
  return {weight, scale, shift, static_cast<Term>(bounded(bits.word[3], kTerms))};
}

CAUSEWAY_HOST_DEVICE float add_term(const SimpleTerm& term, float x, float sum) {
  const float z = elementary::fma(term.scale, x, term.shift);
  float value = z;
  switch (term.kind) {  // |z| < 6
    case Term::sine: value = elementary::sin(z); break;
    case Term::cosine: value = elementary::cos(z); break;
    case Term::tanh: value = elementary::tanh(z); break;
    case Term::exp: value = elementary::exp_within(z); break;
    case Term::identity: break;
  }
  return elementary::fma(term.weight, value, sum);
}

// Uniform on [-sqrt 3, sqrt 3): mean 0, variance 1.
CAUSEWAY_HOST_DEVICE float simple_feature(std::uint32_t bits) {
  return elementary::fma(uniform_f32(bits), 3.46410162f, -1.73205081f);
}

// Features 4 * block ... 4 * block + 3 of a row.
CAUSEWAY_HOST_DEVICE void simple_features(const Draws& draws, int row, int block,
                                          float (&values)[4]) {
  const Bits128 bits =
      draws.bits(kFeatureSite, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(block));
  for (int k = 0; k < 4; ++k) values[k] = simple_feature(bits.word[k]);
}

}  // namespace causeway::prior
