// Edges as thresholds in the dtype of the values.
#include "causeway/tokenizer/kernels/guide_device.h"
#include "causeway/tokenizer/column.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace causeway::tokenizer {

namespace {

// The smallest V that is >= `edge` (> if `above`); false if there is none.
template <class V>
bool first_reaching(double edge, bool above, V& threshold) {
  using Limits = std::numeric_limits<V>;
  if constexpr (std::is_integral_v<V>) {
    const double whole = above ? std::floor(edge) + 1 : std::ceil(edge);
    // 2^31 and 2^63 are exact in f64; the largest V may not be.
    if (whole >= -2.0 * static_cast<double>(Limits::min() / 2)) return false;
    threshold = whole <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<V>(whole);
    // floor(edge) + 1 is not exact beyond 2^53: `edge` is an integer then.
    if (above && std::fabs(edge) >= 9007199254740992.0) {
      if (edge < static_cast<double>(Limits::min())) {
        threshold = Limits::min();
      } else {
        threshold = next_above(static_cast<V>(edge));
      }
    }
    return true;
  } else {
    auto rounded = static_cast<V>(edge);
    while (static_cast<double>(rounded) < edge) rounded = next_above(rounded);  // was rounded down
    if (above && static_cast<double>(rounded) == edge) {
      if (rounded == Limits::infinity()) return false;
      rounded = next_above(rounded);
    }
    threshold = rounded;
    return true;
  }
}

}  // namespace

double Bins::centre(std::int64_t bin) const {
  const double low = edges[static_cast<std::size_t>(bin)];
  const double high = edges[static_cast<std::size_t>(bin) + 1];
  if (std::isinf(low) || std::isinf(high)) return std::isinf(low) ? high : low;
  const double sum = low + high;
  return std::isinf(sum) ? low * 0.5 + high * 0.5 : sum * 0.5;
}

template <class V>
std::vector<V> thresholds_of(const Bins& bins) {
  std::vector<V> thresholds;
  for (std::size_t i = 1; i + 1 < bins.edges.size(); ++i) {
    V threshold;
    if (!first_reaching(bins.edges[i], bins.closed == Closed::right, threshold)) break;
    thresholds.push_back(threshold);
  }
  return thresholds;
}

template std::vector<float> thresholds_of<float>(const Bins&);
template std::vector<double> thresholds_of<double>(const Bins&);
template std::vector<std::int32_t> thresholds_of<std::int32_t>(const Bins&);
template std::vector<std::int64_t> thresholds_of<std::int64_t>(const Bins&);

}  // namespace causeway::tokenizer
