#include "causeway/train/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace causeway::train {

namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// The share of pairs (positive, negative) with the positive's score above, ties as halves.
double area(std::vector<std::pair<double, bool>> scores) {
  std::sort(scores.begin(), scores.end());
  double below = 0;  // negatives so far
  double won = 0;
  double n_positive = 0;
  for (std::size_t i = 0; i < scores.size();) {
    double positive = 0;
    double negative = 0;
    const double value = scores[i].first;
    for (; i < scores.size() && scores[i].first == value; ++i) {
      (scores[i].second ? positive : negative) += 1;
    }
    won += positive * (below + negative / 2);
    below += negative;
    n_positive += positive;
  }
  return won / (n_positive * below);
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
  std::vector<std::vector<std::size_t>> rows(index(n_classes));
  for (std::size_t row = 0; row < classes.size(); ++row) rows[index(classes[row])].push_back(row);
  const auto told_apart = [&](std::size_t one, std::size_t other) {
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
      sum += (told_apart(a, b) + told_apart(b, a)) / 2;
      n += 1;
    }
  }
  return n > 0 ? sum / n : std::numeric_limits<double>::quiet_NaN();
}

double mean_absolute_error(std::span<const double> said, std::span<const double> numbers) {
  double sum = 0;
  for (std::size_t i = 0; i < said.size(); ++i) sum += std::fabs(said[i] - numbers[i]);
  return sum / static_cast<double>(said.size());
}

double root_mean_squared_error(std::span<const double> said, std::span<const double> numbers) {
  double sum = 0;
  for (std::size_t i = 0; i < said.size(); ++i)
    sum += (said[i] - numbers[i]) * (said[i] - numbers[i]);
  return std::sqrt(sum / static_cast<double>(said.size()));
}

double r2(std::span<const double> said, std::span<const double> numbers) {
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  double spread = 0;
  double left = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    spread += (numbers[i] - mean) * (numbers[i] - mean);
    left += (said[i] - numbers[i]) * (said[i] - numbers[i]);
  }
  if (spread == 0) return left == 0 ? 1 : 0;
  return 1 - left / spread;
}

}  // namespace causeway::train
