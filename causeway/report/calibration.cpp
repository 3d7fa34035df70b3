#include "causeway/report/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace causeway::report {

std::vector<ReliabilityBin> reliability(const std::vector<Answer>& answers) {
  constexpr std::size_t kBins = 10;
  std::array<ReliabilityBin, kBins> bins;
  for (const Answer& answer : answers) {
    const double place = std::clamp(answer.confidence * kBins, 0.0, kBins - 1.0);
    ReliabilityBin& bin = bins[static_cast<std::size_t>(place)];
    ++bin.count;
    bin.confidence += answer.confidence;
    bin.accuracy += answer.correct ? 1 : 0;
  }
  std::vector<ReliabilityBin> found;
  for (std::size_t i = 0; i < kBins; ++i) {
    ReliabilityBin bin = bins[i];
    if (bin.count == 0) continue;
    bin.low = static_cast<double>(i) / kBins;
    bin.high = static_cast<double>(i + 1) / kBins;
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
    found.push_back(bin);
  }
  return found;
}

double calibration_error(const std::vector<ReliabilityBin>& bins) {
  double sum = 0;
  double n = 0;
  for (const ReliabilityBin& bin : bins) {
    sum += static_cast<double>(bin.count) * std::fabs(bin.confidence - bin.accuracy);
    n += static_cast<double>(bin.count);
  }
  return n > 0 ? sum / n : 0;
}

}  // namespace causeway::report
