#include "causeway/tokenizer/fit/edges.h"

#include "causeway/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace causeway::tokenizer {

std::vector<double> even_levels(std::int64_t bins) { return even_edges(0, 1, bins); }

std::vector<double> even_edges(double low, double high, std::int64_t bins) {
  const double step = (high - low) / static_cast<double>(bins);
  std::vector<double> edges;
  edges.reserve(static_cast<std::size_t>(bins) + 1);
  for (std::int64_t i = 0; i <= bins; ++i) {
    edges.push_back(static_cast<double>(i) * step + low);
  }
  edges.back() = high;
  return edges;
}

std::vector<std::size_t> kept_edges(std::span<const double> edges, const Options& options,
                                    const std::string& column) {
  std::vector<std::size_t> kept;
  kept.reserve(edges.size());
  kept.push_back(0);
  for (std::size_t i = 1; i < edges.size(); ++i) {
    const bool apart = edges[i] > edges[i - 1] && (options.duplicates != Duplicates::drop ||
                                                   edges[i] - edges[i - 1] > options.min_width);
    if (apart || options.duplicates == Duplicates::keep) {
      kept.push_back(i);
    } else if (options.duplicates == Duplicates::error) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           fmt::format("column \"{}\": edges {} and {} are both {}; use fewer bins, or "
                       "duplicates=\"drop\" or \"keep\"",
                       column, i - 1, i, edges[i]));
    }
  }
  if (kept.size() == 1) kept.push_back(edges.size() - 1);
  return kept;
}

namespace {

// Integer weights repeat rows: quantiles of the expanded rows.
std::vector<double> repeated_quantiles(std::span<const Sample> samples,
                                       const std::vector<double>& reached, QuantileMethod method,
                                       std::span<const double> levels) {
  const auto value = [&](std::int64_t rank) {
    const auto at = std::upper_bound(reached.begin(), reached.end(), static_cast<double>(rank));
    return samples[static_cast<std::size_t>(at - reached.begin())].value;
  };
  std::vector<double> quantiles;
  for (const double level : levels) {
    const RankPair pair = ranks_of(method, level, static_cast<std::int64_t>(reached.back()));
    quantiles.push_back(interpolate(value(pair.below), value(pair.above), pair.weight));
  }
  return quantiles;
}

}  // namespace

std::vector<double> weighted_quantiles(std::span<const Sample> samples, QuantileMethod method,
                                       std::span<const double> levels) {
  std::vector<double> reached;  // cumulative weight including each sample
  double total = 0;
  bool whole = true;
  for (const Sample& sample : samples) {
    reached.push_back(total += sample.weight);
    whole = whole && std::floor(sample.weight) == sample.weight;
  }
  if (whole && total < 9007199254740992.0) {
    return repeated_quantiles(samples, reached, method, levels);
  }
  const bool averages = method == QuantileMethod::averaged_inverted_cdf;
  if (!averages && method != QuantileMethod::inverted_cdf) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("non-integer weights require quantile=\"inverted_cdf\" or "
                     "\"averaged_inverted_cdf\", got \"{}\"",
                     to_string(method)));
  }
  if (!averages) {
    for (double& weight : reached) weight /= total;
  }
  std::vector<double> quantiles;
  for (const double level : levels) {
    const double wanted = averages ? level * total : level;
    auto at = static_cast<std::size_t>(std::lower_bound(reached.begin(), reached.end(), wanted) -
                                       reached.begin());
    at = std::min(at, samples.size() - 1);
    double value = samples[at].value;
    const bool on_border =
        wanted > 0 && reached[at] - wanted <= std::numeric_limits<double>::epsilon();
    if (averages && on_border && at + 1 < samples.size()) {
      value = (value + samples[at + 1].value) / 2;
    }
    quantiles.push_back(value);
  }
  return quantiles;
}

std::vector<double> kmeans_edges(std::span<const Sample> samples, std::int64_t bins) {
  const double low = samples.front().value;
  const double high = samples.back().value;
  std::vector<double> weights{0}, sums{0};
  for (const Sample& sample : samples) {
    weights.push_back(weights.back() + sample.weight);
    sums.push_back(sums.back() + sample.weight * sample.value);
  }
  const double mean = sums.back() / weights.back();
  double variance = 0;
  for (const Sample& sample : samples) {
    variance += sample.weight * (sample.value - mean) * (sample.value - mean);
  }
  const double tolerance = 1e-4 * variance / weights.back();
  const std::vector<double> even = even_edges(low, high, bins);
  std::vector<double> centres, edges(static_cast<std::size_t>(bins) + 1, low);
  for (std::size_t i = 0; i + 1 < even.size(); ++i)
    centres.push_back((even[i + 1] + even[i]) * 0.5);
  edges.back() = high;
  for (int round = 0; round < 300; ++round) {
    double moved = 0;
    std::size_t begin = 0;
    std::vector<double> next = centres;
    for (std::size_t i = 0; i < centres.size(); ++i) {
      auto end = samples.size();
      if (i + 1 < centres.size()) {
        const double border = (centres[i] + centres[i + 1]) * 0.5;
        end = static_cast<std::size_t>(
            std::upper_bound(samples.begin(), samples.end(), border,
                             [](double x, const Sample& s) { return x < s.value; }) -
            samples.begin());
      }
      end = std::max(end, begin);
      const double weight = weights[end] - weights[begin];
      // An empty cluster keeps its centre.
      if (weight > 0) next[i] = (sums[end] - sums[begin]) / weight;
      moved += (next[i] - centres[i]) * (next[i] - centres[i]);
      begin = end;
    }
    centres = std::move(next);
    if (moved <= tolerance) break;
  }
  std::sort(centres.begin(), centres.end());
  for (std::size_t i = 0; i + 1 < centres.size(); ++i) {
    edges[i + 1] = (centres[i] + centres[i + 1]) * 0.5;
  }
  return edges;
}

}  // namespace causeway::tokenizer
