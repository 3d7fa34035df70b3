#include "causeway/report/informative_columns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace causeway::report {

namespace {

constexpr int kBins = 6;
constexpr int kMissingBin = kBins;  // of missing values
constexpr std::size_t kPaired = 12;

// The bin of each value, of kBins bins with equal counts.
std::vector<int> bins_of(const std::vector<float>& values) {
  const std::vector<float> cuts = quantiles(values, kBins);
  std::vector<int> bins;
  for (const float value : values) {
    const auto above = std::upper_bound(cuts.begin() + 1, cuts.end() - 1, value);
    bins.push_back(value != value ? kMissingBin : static_cast<int>(above - cuts.begin()) - 1);
  }
  return bins;
}

// Mutual information in nats, corrected for the bias of independent variables; bins 0 to n - 1.
double information(const std::vector<int>& x, int n_x, const std::vector<int>& y, int n_y) {
  std::vector<double> joint(static_cast<std::size_t>(n_x) * static_cast<std::size_t>(n_y));
  std::vector<double> of_x(static_cast<std::size_t>(n_x));
  std::vector<double> of_y(static_cast<std::size_t>(n_y));
  for (std::size_t row = 0; row < x.size(); ++row) {
    joint[static_cast<std::size_t>(x[row] * n_y + y[row])] += 1;
    of_x[static_cast<std::size_t>(x[row])] += 1;
    of_y[static_cast<std::size_t>(y[row])] += 1;
  }
  const auto n = static_cast<double>(x.size());
  double sum = 0;
  for (std::size_t i = 0; i < joint.size(); ++i) {
    const double expected = of_x[i / of_y.size()] * of_y[i % of_y.size()] / n;
    if (joint[i] > 0) sum += joint[i] * std::log(joint[i] / expected);
  }
  const auto filled = [](const std::vector<double>& counts) {
    return std::count_if(counts.begin(), counts.end(), [](double count) { return count > 0; });
  };
  const auto freedom = static_cast<double>((filled(of_x) - 1) * (filled(of_y) - 1));
  return (sum - freedom / 2) / n;
}

}  // namespace

std::vector<float> quantiles(std::vector<float> values, int n_bins) {
  values.erase(std::remove_if(values.begin(), values.end(), [](float v) { return v != v; }),
               values.end());
  std::sort(values.begin(), values.end());
  if (values.empty()) values.push_back(0.0f);
  std::vector<float> cuts;
  for (int k = 0; k <= n_bins; ++k) {
    cuts.push_back(values[(values.size() - 1) * static_cast<std::size_t>(k) /
                          static_cast<std::size_t>(n_bins)]);
  }
  return cuts;
}

std::vector<int> informative_columns(const GalleryDataset& dataset) {
  std::vector<int> y;
  int n_y = kBins + 1;
  if (dataset.n_classes > 0) {
    n_y = dataset.n_classes;
    for (const float label : dataset.target) y.push_back(static_cast<int>(label));
  } else {
    y = bins_of(dataset.target);
  }
  std::vector<std::vector<int>> bins;
  std::vector<double> scores;
  for (const GalleryColumn& column : dataset.features) {
    bins.push_back(bins_of(column.values));
    scores.push_back(information(bins.back(), kBins + 1, y, n_y));
  }
  std::vector<int> order(bins.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });

  double best = -1e30;
  std::pair<int, int> pair{-1, -1};
  const std::size_t n_paired = std::min(order.size(), kPaired);
  for (std::size_t i = 0; i < n_paired; ++i) {
    for (std::size_t j = i + 1; j < n_paired; ++j) {
      const auto& a = bins[static_cast<std::size_t>(order[i])];
      const auto& b = bins[static_cast<std::size_t>(order[j])];
      std::vector<int> both(a.size());
      for (std::size_t row = 0; row < a.size(); ++row) both[row] = a[row] * (kBins + 1) + b[row];
      const double score = information(both, (kBins + 1) * (kBins + 1), y, n_y);
      if (score > best) best = score, pair = {order[i], order[j]};
    }
  }
  // For regression only the best column is drawn, so the order stays.
  if (pair.first >= 0 && dataset.n_classes > 0) {
    order.erase(std::remove(order.begin(), order.end(), pair.first), order.end());
    order.erase(std::remove(order.begin(), order.end(), pair.second), order.end());
    order.insert(order.begin(), {pair.first, pair.second});
  }
  return order;
}

}  // namespace causeway::report
