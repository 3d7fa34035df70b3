#include "causeway/models/target_bins.h"

#include "causeway/tensor/create.h"

#include <algorithm>
#include <limits>

namespace causeway::models {

namespace {

constexpr int kPoints = 16;  // of a bin, by which its mean is computed
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sorted, without edges that are equal up to rounding.
std::vector<double> distinct(std::vector<double> edges) {
  std::sort(edges.begin(), edges.end());
  const double least = 1e-9 * (edges.back() - edges.front());
  std::vector<double> kept;
  for (const double edge : edges) {
    if (kept.empty() || edge - kept.back() > least) kept.push_back(edge);
  }
  return kept;
}

}  // namespace

TargetBins::View TargetBins::view_of(Transform transform, const OfModel& of_model,
                                     std::span<const double> y) {
  View view{ColumnTransform(transform, y), of_model.borders, {}, {}};
  const auto [least, greatest] = std::minmax_element(y.begin(), y.end());
  // The outer bins have no end. They end as far from their mean as they begin, or at the extreme
  // of the context rows if that is farther.
  const double first = 2 * of_model.centres.front() - of_model.borders.front();
  const double last = 2 * of_model.centres.back() - of_model.borders.back();
  view.ends.insert(view.ends.begin(), std::min(first, view.transform(*least)));
  view.ends.push_back(std::max(last, view.transform(*greatest)));
  // A power's inverse can be far outside, or infinite. No bin goes beyond the ends without one.
  const ColumnTransform plain(Transform::none, y);
  const double low = std::min(plain.inverse(first), *least);
  const double high = std::max(plain.inverse(last), *greatest);
  const auto target = [&](double z) { return std::clamp(view.transform.inverse(z), low, high); };
  for (const double end : view.ends) view.edges.push_back(target(end));
  for (std::size_t bin = 0; bin < of_model.centres.size(); ++bin) {
    const double centre = of_model.centres[bin];
    if (transform == Transform::none) {
      view.centres.push_back(target(centre));
      continue;
    }
    const bool is_first = bin == 0;
    const bool is_last = bin + 1 == of_model.centres.size();
    const double half = is_first  ? of_model.borders.front() - centre
                        : is_last ? centre - of_model.borders.back()
                                  : (view.ends[bin + 1] - view.ends[bin]) / 2;
    double sum = 0;
    for (int k = 0; k < kPoints; ++k) sum += target(centre + half * ((2 * k + 1.0) / kPoints - 1));
    view.centres.push_back(sum / kPoints);
  }
  return view;
}

TargetBins::TargetBins(const OfModel& of_model, std::span<const double> y,
                       std::span<const Transform> transforms) {
  for (const Transform transform : transforms) {
    if (!views_.contains(transform)) views_.emplace(transform, view_of(transform, of_model, y));
  }
  const auto& [first, view_of_first] = *views_.begin();
  const bool is_plain = views_.size() == 1 && first == Transform::none;
  if (is_plain || view_of_first.transform.is_constant()) {
    edges_ = view_of_first.edges;
    return;
  }
  std::vector<double> all;
  for (const auto& [transform, view] : views_) {
    all.insert(all.end(), view.edges.begin(), view.edges.end());
  }
  edges_ = distinct(std::move(all));
  for (auto& [transform, view] : views_) divide(view);
}

void TargetBins::divide(View& view) const {
  std::vector<double> ends;  // of the joined bins, for the transformed target
  for (const double edge : edges_) ends.push_back(view.transform(edge));
  ends.front() = -kInfinity;
  ends.back() = kInfinity;
  for (std::size_t bin = 0; bin + 1 < view.ends.size(); ++bin) {
    const double begin = view.ends[bin];
    const double end = view.ends[bin + 1];
    const auto above = std::upper_bound(ends.begin() + 1, ends.end() - 1, begin);
    auto to = static_cast<std::size_t>(above - ends.begin()) - 1;
    view.first.push_back(to);
    std::vector<double>& shares = view.shares.emplace_back();
    for (; to + 1 < ends.size() && (shares.empty() || ends[to] < end); ++to) {
      const double inside = std::min(end, ends[to + 1]) - std::max(begin, ends[to]);
      shares.push_back(inside / (end - begin));
    }
  }
}

std::vector<Transform> TargetBins::transforms() const {
  std::vector<Transform> made;
  for (const auto& [transform, view] : views_) made.push_back(transform);
  return made;
}

double TargetBins::mean(Transform transform, const double* of_bins) const {
  const std::vector<double>& centres = views_.at(transform).centres;
  // Relative to a bin in the middle, so that a constant target is exact.
  const double middle = centres[centres.size() / 2];
  double sum = 0;
  for (std::size_t bin = 0; bin < centres.size(); ++bin) {
    sum += of_bins[bin] * (centres[bin] - middle);
  }
  return middle + sum;
}

TargetDistribution TargetBins::join(const std::vector<Part>& parts) const {
  const std::int64_t n_rows = parts.front().probabilities.size(0);
  const std::int64_t n_bins = std::ssize(edges_) - 1;
  TargetDistribution made{edges_, zeros({n_rows, n_bins}, DType::f64), zeros({n_rows}, DType::f64)};
  for (const Part& part : parts) {
    const View& view = views_.at(part.transform);
    const std::int64_t n_read = part.probabilities.size(1);
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const double* from = part.probabilities.data_as<double>() + row * n_read;
      double* to = made.probabilities.data_as<double>() + row * n_bins;
      made.means.data_as<double>()[row] += part.weight * mean(part.transform, from);
      for (std::size_t bin = 0; bin < static_cast<std::size_t>(n_read); ++bin) {
        const double probability = part.weight * from[bin];
        if (view.shares.empty()) {
          to[bin] += probability;
          continue;
        }
        double* inside = to + view.first[bin];
        for (const double share : view.shares[bin]) *inside++ += probability * share;
      }
    }
  }
  return made;
}

}  // namespace causeway::models
