#include "causeway/models/target_distribution.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kTargetDistribution = "target distribution";

// Where a histogram's cumulative probability reaches `share`.
double quantile(const std::vector<double>& edges, const double* of_bin, double share) {
  double below = 0;
  const std::size_t n_bins = edges.size() - 1;
  for (std::size_t bin = 0; bin < n_bins; ++bin) {
    if (below + of_bin[bin] >= share && of_bin[bin] > 0) {
      const double part = std::clamp((share - below) / of_bin[bin], 0.0, 1.0);
      return edges[bin] + part * (edges[bin + 1] - edges[bin]);
    }
    below += of_bin[bin];
  }
  return edges.back();
}

}  // namespace

Tensor TargetDistribution::mode() const {
  Tensor out = Tensor::empty({probabilities.size(0)}, DType::f64);
  for (std::int64_t row = 0; row < out.numel(); ++row) {
    const double* of_row = probabilities.data_as<double>() + row * probabilities.size(1);
    std::size_t best = 0;
    const auto width = [&](std::size_t bin) { return edges[bin + 1] - edges[bin]; };
    for (std::size_t bin = 1; bin + 1 < edges.size(); ++bin) {
      if (of_row[bin] * width(best) > of_row[best] * width(bin)) best = bin;
    }
    out.data_as<double>()[row] = (edges[best] + edges[best + 1]) / 2;
  }
  return out;
}

Tensor TargetDistribution::quantiles(std::span<const double> shares) const {
  for (const double share : shares) {
    if (share >= 0 && share <= 1) continue;
    fail(ErrorKind::invalid_argument, kTargetDistribution,
         fmt::format("quantile {}: expected a number from 0 to 1", share));
  }
  const auto n_shares = static_cast<std::int64_t>(shares.size());
  Tensor out = Tensor::empty({probabilities.size(0), n_shares}, DType::f64);
  auto* to = out.data_as<double>();
  for (std::int64_t row = 0; row < probabilities.size(0); ++row) {
    const double* of_row = probabilities.data_as<double>() + row * probabilities.size(1);
    for (const double share : shares) *to++ = quantile(edges, of_row, share);
  }
  return out;
}

Tensor TargetDistribution::interval(double coverage) const {
  if (!(coverage > 0 && coverage < 1)) {
    fail(ErrorKind::invalid_argument, kTargetDistribution,
         fmt::format("coverage {}: expected a number between 0 and 1", coverage));
  }
  return quantiles(std::array{(1 - coverage) / 2, (1 + coverage) / 2});
}

std::vector<double> TargetDistribution::below(std::span<const double> y) const {
  std::vector<double> sums;
  for (std::size_t row = 0; row < y.size(); ++row) {
    const double* of_row =
        probabilities.data_as<double>() + static_cast<std::int64_t>(row) * probabilities.size(1);
    double sum = 0;
    for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) {
      const double width = edges[bin + 1] - edges[bin];
      // The bins of a constant target have no width.
      const double part = width > 0             ? (y[row] - edges[bin]) / width
                          : y[row] > edges[bin] ? 1.0
                                                : 0.0;
      sum += of_row[bin] * std::clamp(part, 0.0, 1.0);
    }
    sums.push_back(sum);
  }
  return sums;
}

Tensor TargetDistribution::median() const {
  return quantiles(std::array{0.5}).reshape({probabilities.size(0)});
}

}  // namespace causeway::models
