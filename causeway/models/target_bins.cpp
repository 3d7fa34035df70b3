#include "causeway/models/target_bins.h"

#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/models/ensemble.h"
#include "causeway/tensor/create.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

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

const char* to_string(TargetTransform transform) {
  switch (transform) {
    case TargetTransform::none: return "none";
    case TargetTransform::power: return "power";
    case TargetTransform::residual: return "residual";
  }
  return "";
}

TargetTransform parse_target_transform(const std::string& name) {
  using enum TargetTransform;
  for (const TargetTransform each : {none, power, residual}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::invalid_argument, kTabularPredictor,
       fmt::format("target transform {}: expected none, power or residual", shown(name)));
}

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
                       std::span<const double> residuals,
                       std::span<const TargetTransform> transforms) {
  using enum TargetTransform;
  for (const TargetTransform each : transforms) {
    if (views_.contains(each)) continue;
    const Transform transform = each == power ? Transform::power : Transform::none;
    views_.emplace(each, view_of(transform, of_model, each == residual ? residuals : y));
  }
  const View plain = view_of(Transform::none, of_model, y);
  if (!views_.contains(power) || plain.transform.is_constant()) {
    edges_ = plain.edges;
    return;
  }
  std::vector<double> all = views_.at(power).edges;
  if (views_.contains(none)) all.insert(all.end(), plain.edges.begin(), plain.edges.end());
  edges_ = distinct(std::move(all));
  for (auto& [transform, view] : views_) {
    if (transform != residual) divide(view);
  }
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

std::vector<TargetTransform> TargetBins::transforms() const {
  std::vector<TargetTransform> made;
  for (const auto& [transform, view] : views_) made.push_back(transform);
  return made;
}

double TargetBins::mean(TargetTransform transform, const double* of_bins, double fit) const {
  const std::vector<double>& centres = views_.at(transform).centres;
  const auto centre = [&](std::size_t bin) {
    if (transform != TargetTransform::residual) return centres[bin];
    return std::clamp(fit + centres[bin], edges_.front(), edges_.back());
  };
  // Relative to a bin in the middle, so that a constant target is exact.
  const double middle = centre(centres.size() / 2);
  double sum = 0;
  for (std::size_t bin = 0; bin < centres.size(); ++bin) {
    sum += of_bins[bin] * (centre(bin) - middle);
  }
  return middle + sum;
}

void TargetBins::add(const View& view, const double* from, double weight, double* to) const {
  for (std::size_t bin = 0; bin < view.centres.size(); ++bin) {
    const double probability = weight * from[bin];
    if (view.shares.empty()) {
      to[bin] += probability;
      continue;
    }
    double* inside = to + view.first[bin];
    for (const double share : view.shares[bin]) *inside++ += probability * share;
  }
}

void TargetBins::add_around(const View& view, double fit, const double* from, double weight,
                            double* to) const {
  const auto clipped = [&](double y) { return std::clamp(y, edges_.front(), edges_.back()); };
  std::size_t at = 0;  // the joined bin
  for (std::size_t bin = 0; bin < view.centres.size(); ++bin) {
    const double begin = clipped(fit + view.edges[bin]);
    const double end = clipped(fit + view.edges[bin + 1]);
    while (at + 2 < edges_.size() && edges_[at + 1] <= begin) ++at;
    const double probability = weight * from[bin];
    if (end <= edges_[at + 1]) {
      to[at] += probability;
      continue;
    }
    for (; edges_[at] < end; ++at) {
      const double inside = std::min(end, edges_[at + 1]) - std::max(begin, edges_[at]);
      to[at] += probability * inside / (end - begin);
      if (edges_[at + 1] >= end) break;
    }
  }
}

TargetDistribution TargetBins::join(const std::vector<Part>& parts,
                                    std::span<const double> fit) const {
  const std::int64_t n_rows = parts.front().probabilities.size(0);
  const std::int64_t n_bins = std::ssize(edges_) - 1;
  TargetDistribution made{edges_, zeros({n_rows, n_bins}, DType::f64), zeros({n_rows}, DType::f64)};
  for (const Part& part : parts) {
    const View& view = views_.at(part.transform);
    const bool is_around = part.transform == TargetTransform::residual;
    for (std::int64_t row = 0; row < n_rows; ++row) {
      const double* from = part.probabilities.data_as<double>() + row * part.probabilities.size(1);
      double* to = made.probabilities.data_as<double>() + row * n_bins;
      double centre = is_around ? fit[static_cast<std::size_t>(row)] : 0;
      if (is_around && part.kept < 1) {
        const double residual =
            std::inner_product(view.centres.begin(), view.centres.end(), from, 0.0);
        centre -= (1 - part.kept) * residual;
      }
      made.means.data_as<double>()[row] += part.weight * mean(part.transform, from, centre);
      if (is_around) {
        add_around(view, centre, from, part.weight, to);
      } else {
        add(view, from, part.weight, to);
      }
    }
  }
  // Sums are rounded: a mean at the end of the outer bin may be beyond it.
  for (std::int64_t row = 0; row < n_rows; ++row) {
    double& of_row = made.means.data_as<double>()[row];
    of_row = std::clamp(of_row, edges_.front(), edges_.back());
  }
  return made;
}

}  // namespace causeway::models
