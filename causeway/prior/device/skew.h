// Skewed and rounded numeric targets, as amounts and counts are.
#pragma once

#include "causeway/prior/device/columns.h"
#include "causeway/prior/device/sampler.h"
#include "causeway/prior/device/tidy.h"

namespace causeway::prior {

// A site of its own, so that datasets whose target is not skewed keep their random draws.
inline constexpr std::uint32_t kSkewSite = 0x10000008u;

// With probability `share`, replaces a standardised target by an exponential of it, by rounded
// values, or by a rounded exponential, and standardises it again. Outliers stay.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void skew_target(W& w, float share, float* target) {
  const Bits128 choices = w.draws.bits(kSkewSite, 0);
  if (open_uniform(choices.word[0]) >= share) return;
  const float kind = open_uniform(choices.word[1]);
  const bool skews = kind < 0.75f;
  const bool rounds = kind >= 0.5f;
  const float sign = open_uniform(choices.word[2]) < 0.8f ? 1.0f : -1.0f;
  const Bits128 sizes = w.draws.bits(kSkewSite, 1);
  const float strength = stretch(open_uniform(sizes.word[0]), {0.3f, 2.0f, true});
  const float levels = stretch(open_uniform(sizes.word[1]), {1.0f, 10.0f, true});
  w.team.columns(1, [&](int, const auto& lanes) {
    lanes.each(w.row_end(), [&](int i) {
      float value = target[i];
      if (skews) value = sign * elementary::exp(strength * value);
      if (rounds) value = elementary::nearest(levels * value);
      target[i] = value;
    });
    lanes.sync();
    standardise_column(w, lanes, target);
  });
  w.team.sync();
}

}  // namespace causeway::prior
