// Supervised edges: a decision tree over one column.
#include "causeway/tokenizer/fit/edges.h"

#include <algorithm>
#include <map>
#include <queue>

namespace causeway::tokenizer {

namespace {

// Running sums of a range of samples, which give its weighted impurity.
class Sums {
 public:
  Sums(std::size_t n_classes) : classes_(n_classes, 0) {}

  void add(const Sample& sample, double sign) {
    const double weight = sign * sample.weight;
    weight_ += weight;
    if (classes_.empty()) {
      sum_ += weight * sample.target;
      squares_ += weight * sample.target * sample.target;
    } else {
      double& of_class = classes_[static_cast<std::size_t>(sample.target)];
      squares_ += (of_class + weight) * (of_class + weight) - of_class * of_class;
      of_class += weight;
    }
  }
  // Gini: w - sum w_k^2 / w; squared error: sum y^2 - (sum y)^2 / w.
  double impurity() const {
    if (weight_ <= 0) return 0;
    return classes_.empty() ? squares_ - sum_ * sum_ / weight_ : weight_ - squares_ / weight_;
  }

 private:
  double weight_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  std::vector<double> classes_;
};

struct Split {
  double gain = -1;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t at = 0;  // the first sample of the right part

  // Largest gain first; ties are resolved to the left, so that the order is deterministic.
  bool operator<(const Split& other) const {
    return gain != other.gain ? gain < other.gain : begin > other.begin;
  }
};

Split best_split(std::span<const Sample> samples, std::size_t begin, std::size_t end,
                 std::size_t n_classes) {
  Sums left(n_classes), right(n_classes);
  for (std::size_t i = begin; i < end; ++i) right.add(samples[i], 1);
  const double whole = right.impurity();
  Split best{-1, begin, end, end};
  if (!(whole > 1e-12)) return best;
  for (std::size_t i = begin; i + 1 < end; ++i) {
    left.add(samples[i], 1);
    right.add(samples[i], -1);
    if (samples[i].value == samples[i + 1].value) continue;
    const double gain = whole - left.impurity() - right.impurity();
    if (gain > best.gain) best = {gain, begin, end, i + 1};
  }
  return best;
}

// Targets as class indices 0, 1, ... in ascending order.
std::vector<Sample> with_class_numbers(std::span<const Sample> samples, std::size_t& n_classes) {
  std::map<double, double> numbers;
  for (const Sample& sample : samples) numbers.emplace(sample.target, 0);
  double next = 0;
  for (auto& [target, number] : numbers) number = next++;
  n_classes = numbers.size();
  std::vector<Sample> numbered(samples.begin(), samples.end());
  for (Sample& sample : numbered) sample.target = numbers[sample.target];
  return numbered;
}

}  // namespace

std::vector<double> tree_edges(std::span<const Sample> given, std::int64_t bins, bool classes) {
  std::size_t n_classes = 0;
  std::vector<Sample> numbered;
  if (classes) numbered = with_class_numbers(given, n_classes);
  const std::span<const Sample> samples = classes ? std::span<const Sample>(numbered) : given;
  std::priority_queue<Split> open;
  std::vector<double> edges{samples.front().value, samples.back().value};
  const auto consider = [&](std::size_t begin, std::size_t end) {
    const Split split = best_split(samples, begin, end, n_classes);
    if (split.at < end) open.push(split);
  };
  consider(0, samples.size());
  while (!open.empty() && static_cast<std::int64_t>(edges.size()) - 1 < bins) {
    const Split split = open.top();
    open.pop();
    const double below = samples[split.at - 1].value, above = samples[split.at].value;
    const double middle = below / 2 + above / 2;
    edges.push_back(middle > below ? middle : above);
    consider(split.begin, split.at);
    consider(split.at, split.end);
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

}  // namespace causeway::tokenizer
