#include "causeway/tables/scores.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace causeway::tables {

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// The share of pairs (positive, negative) in which the positive has the higher score; ties count as
// halves. Scores are finite.
double area(std::vector<std::pair<double, bool>> scores) {
  std::sort(scores.begin(), scores.end());
  double below = 0;  // negatives so far
  double ordered = 0;
  double n_positive = 0;
  for (std::size_t i = 0; i < scores.size();) {
    double positive = 0;
    double negative = 0;
    const double value = scores[i].first;
    for (; i < scores.size() && scores[i].first == value; ++i) {
      (scores[i].second ? positive : negative) += 1;
    }
    ordered += positive * (below + negative / 2);
    below += negative;
    n_positive += positive;
  }
  return ordered / (n_positive * below);
}

void require_finite(const char* score, std::span<const double> probabilities,
                    std::int64_t n_classes) {
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (std::isfinite(probabilities[i])) continue;
    fail(ErrorKind::invalid_argument, score,
         fmt::format("the probabilities are not finite: row {} has {} for class {}",
                     i / index(n_classes), probabilities[i], i % index(n_classes)));
  }
}

}  // namespace

double accuracy(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes) {
  std::int64_t right = 0;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    const auto of = probabilities.subspan(row * index(n_classes), index(n_classes));
    right += std::max_element(of.begin(), of.end()) - of.begin() == classes[row];
  }
  return static_cast<double>(right) / static_cast<double>(classes.size());
}

double log_loss(std::span<const double> probabilities, std::span<const std::int64_t> classes,
                std::int64_t n_classes) {
  double sum = 0;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    sum -= std::log(std::max(probabilities[row * index(n_classes) + index(classes[row])], 1e-15));
  }
  return sum / static_cast<double>(classes.size());
}

double roc_auc(std::span<const double> probabilities, std::span<const std::int64_t> classes,
               std::int64_t n_classes) {
  require_finite("roc_auc", probabilities, n_classes);
  std::vector<std::vector<std::size_t>> rows(index(n_classes));
  for (std::size_t row = 0; row < classes.size(); ++row) rows[index(classes[row])].push_back(row);
  const auto area_between = [&](std::size_t one, std::size_t other) {
    std::vector<std::pair<double, bool>> scores;
    for (const std::size_t c : {one, other}) {
      for (const std::size_t row : rows[c]) {
        scores.emplace_back(probabilities[row * index(n_classes) + one], c == one);
      }
    }
    return area(std::move(scores));
  };
  double sum = 0;
  double n = 0;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      if (rows[a].empty() || rows[b].empty()) continue;
      sum += (area_between(a, b) + area_between(b, a)) / 2;
      n += 1;
    }
  }
  return n > 0 ? sum / n : std::numeric_limits<double>::quiet_NaN();
}

double mean_absolute_error(std::span<const double> predicted, std::span<const double> truth) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) sum += std::fabs(predicted[i] - truth[i]);
  return sum / static_cast<double>(predicted.size());
}

double root_mean_squared_error(std::span<const double> predicted, std::span<const double> truth) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    sum += (predicted[i] - truth[i]) * (predicted[i] - truth[i]);
  return std::sqrt(sum / static_cast<double>(predicted.size()));
}

double r2(std::span<const double> predicted, std::span<const double> truth) {
  const double mean =
      std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size());
  double spread = 0;
  double residual = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    spread += (truth[i] - mean) * (truth[i] - mean);
    residual += (predicted[i] - truth[i]) * (predicted[i] - truth[i]);
  }
  if (spread == 0) return residual == 0 ? 1 : 0;
  return 1 - residual / spread;
}

}  // namespace causeway::tables
