// Learning rates over time.
#pragma once

#include <cstdint>

namespace causeway::optim {

enum class Decay : std::uint8_t { constant, linear, cosine };

// Rises in a line from 0 over `warmup` steps to `peak`, then falls until step `total` to `floor`.
struct Schedule {
  double peak = 1e-3;
  std::int64_t warmup = 0;
  std::int64_t total = 0;
  Decay decay = Decay::constant;
  double floor = 0;

  // Of step 0, 1, …: the first has a rate already.
  double at(std::int64_t step) const;
};

}  // namespace causeway::optim
