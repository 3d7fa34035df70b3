// Learning-rate schedules.
#pragma once

#include <cstdint>

namespace causeway::optim {

enum class Decay : std::uint8_t { constant, linear, cosine };

// Rises linearly from 0 to `peak` over `warmup` steps, then decays to `floor` at step `total`.
struct Schedule {
  double peak = 1e-3;
  std::int64_t warmup = 0;
  std::int64_t total = 0;
  Decay decay = Decay::constant;
  double floor = 0;

  // Learning rate of step 0, 1, ...; positive from step 0 on.
  double at(std::int64_t step) const;
};

}  // namespace causeway::optim
