// Order statistics and interpolation of quantiles: NumPy's nine definitions (Hyndman and Fan, The
// American Statistician 50, 1996), operation by operation, so that results are bit-identical to
// NumPy's.
#pragma once

#include "causeway/core/host_device.h"

#include <cstdint>
#include <type_traits>

#if !defined(__CUDA_ARCH__)
#include <cmath>
#endif

namespace causeway {

enum class QuantileMethod : std::int32_t {
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  linear,
  median_unbiased,
  normal_unbiased,
};

// The quantile is `weight` of the way from order statistic `below` to `above`, counted from 0.
struct RankPair {
  std::int64_t below = 0;
  std::int64_t above = 0;
  double weight = 0;
};

namespace quantile {

CAUSEWAY_HOST_DEVICE double round_down(double x) {
#if defined(__CUDA_ARCH__)
  return ::floor(x);
#else
  return std::floor(x);
#endif
}

// The fractional index of the quantile; an integer is an order statistic.
CAUSEWAY_HOST_DEVICE double virtual_index(double n, double level, double alpha, double beta) {
  return n * level + (alpha + level * (1.0 - alpha - beta)) - 1.0;
}

// One order statistic: `index` rounded up, unless it is an integer and `keeps`.
CAUSEWAY_HOST_DEVICE RankPair discrete(double index, bool closest, std::int64_t n) {
  const double floor = round_down(index);
  const double half = floor * 0.5;
  const bool odd = half != round_down(half);
  const bool keeps = index == floor && (!closest || odd);
  auto rank = static_cast<std::int64_t>(keeps ? floor : floor + 1.0);
  rank = rank < 0 ? 0 : rank > n - 1 ? n - 1 : rank;
  return {rank, rank, 0.0};
}

// Two neighbours; both the same outside [0, n - 1].
CAUSEWAY_HOST_DEVICE RankPair between(double index, std::int64_t n, bool averages) {
  if (index < 0) return {0, 0, 0.0};
  if (index >= static_cast<double>(n - 1)) return {n - 1, n - 1, 0.0};
  const double floor = round_down(index);
  const double gamma = index - floor;
  const auto below = static_cast<std::int64_t>(floor);
  return {below, below + 1, averages ? (gamma == 0 ? 0.5 : 1.0) : gamma};
}

}  // namespace quantile

// The order statistics of quantile `level` (0 to 1) of n > 0 values.
CAUSEWAY_HOST_DEVICE RankPair ranks_of(QuantileMethod method, double level, std::int64_t n) {
  const auto count = static_cast<double>(n);
  switch (method) {
    case QuantileMethod::inverted_cdf: return quantile::discrete(count * level - 1.0, false, n);
    case QuantileMethod::averaged_inverted_cdf:
      return quantile::between(count * level - 1.0, n, true);
    case QuantileMethod::closest_observation:
      return quantile::discrete(count * level - 1.0 - 0.5, true, n);
    case QuantileMethod::interpolated_inverted_cdf:
      return quantile::between(quantile::virtual_index(count, level, 0, 1), n, false);
    case QuantileMethod::hazen:
      return quantile::between(quantile::virtual_index(count, level, 0.5, 0.5), n, false);
    case QuantileMethod::weibull:
      return quantile::between(quantile::virtual_index(count, level, 0, 0), n, false);
    case QuantileMethod::median_unbiased:
      return quantile::between(quantile::virtual_index(count, level, 1 / 3.0, 1 / 3.0), n, false);
    case QuantileMethod::normal_unbiased:
      return quantile::between(quantile::virtual_index(count, level, 3 / 8.0, 3 / 8.0), n, false);
    case QuantileMethod::linear: break;
  }
  return quantile::between((count - 1.0) * level, n, false);
}

// above - below in their own type; integers wrap.
template <class V>
CAUSEWAY_HOST_DEVICE V difference_of(V above, V below) {
  if constexpr (std::is_integral_v<V>) {
    using Wraps = std::make_unsigned_t<V>;
    return static_cast<V>(static_cast<Wraps>(above) - static_cast<Wraps>(below));
  } else {
    return above - below;
  }
}

// NumPy's interpolation: the difference in the data's type, the rest in f64. If a neighbour is
// infinite, the nearer one is returned.
template <class V>
CAUSEWAY_HOST_DEVICE double interpolate(V below, V above, double weight) {
  const auto a = static_cast<double>(below);
  const auto b = static_cast<double>(above);
  if (below == above || weight == 0) return a;
  const auto difference = static_cast<double>(difference_of(above, below));
  const double result = weight >= 0.5 ? b - difference * (1.0 - weight) : a + difference * weight;
  const bool lost = result != result || (b - b != 0) || (a - a != 0);
  return lost ? (weight < 0.5 ? a : b) : result;
}

}  // namespace causeway
