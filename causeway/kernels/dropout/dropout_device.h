// Which elements dropout keeps, shared by CPU and GPU.
#pragma once

#include "causeway/random/philox.h"

namespace causeway {

// The drop probability as a threshold for random words, and the scale of kept elements.
struct DropoutDraw {
  std::uint32_t threshold;  // a word below it drops the element
  float scale;
  double scale_f64;

  CAUSEWAY_HOST_DEVICE float apply(std::uint32_t word, float x) const {
    return word >= threshold ? x * scale : 0.0f;
  }
  CAUSEWAY_HOST_DEVICE double apply(std::uint32_t word, double x) const {
    return word >= threshold ? x * scale_f64 : 0.0;
  }
};

// The random stream of a dropout step.
CAUSEWAY_HOST_DEVICE std::uint64_t dropout_stream(std::uint64_t stream, std::int64_t step) {
  return stream + (static_cast<std::uint64_t>(step) << 32);
}

// Adjacent elements decided by one block of random words.
inline constexpr int kDropoutBlock = 4;

// `drops_all` is set if the probability rounds to 1, for which no threshold exists.
inline DropoutDraw make_dropout_draw(double probability, bool& drops_all) {
  const double bound = probability * 4294967296.0 + 0.5;
  drops_all = bound >= 4294967296.0;
  const double scale = drops_all ? 0.0 : 1.0 / (1.0 - probability);
  return {drops_all ? 0xffffffffu : static_cast<std::uint32_t>(bound < 0 ? 0 : bound),
          static_cast<float>(scale), scale};
}

}  // namespace causeway
