#include "causeway/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace causeway::optim {

double Schedule::at(std::int64_t step) const {
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (decay == Decay::constant) return peak;
  const auto length = static_cast<double>(std::max<std::int64_t>(total - warmup, 1));
  const double gone = std::clamp(static_cast<double>(step - warmup) / length, 0.0, 1.0);
  const double left =
      decay == Decay::linear ? 1 - gone : 0.5 * (1 + std::cos(std::numbers::pi * gone));
  return floor + (peak - floor) * left;
}

}  // namespace causeway::optim
