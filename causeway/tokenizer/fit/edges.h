// Post-processing of edges; and strategies that need the sorted column on the host: weighted
// quantiles, k-means and a decision tree.
#pragma once

#include "causeway/tokenizer/options.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace causeway::tokenizer {

// bins + 1 levels from 0 to 1, as numpy.linspace.
std::vector<double> even_levels(std::int64_t bins);
// bins + 1 equally spaced edges, as numpy.linspace.
std::vector<double> even_edges(double low, double high, std::int64_t bins);

// Indices of the edges to keep; throws if the rule is `error` and two coincide. A constant column
// keeps its first and last edge.
std::vector<std::size_t> kept_edges(std::span<const double> edges, const Options& options,
                                    const std::string& column);

// A value with its weight and target. Missing values and zero weights are excluded.
struct Sample {
  double value = 0;
  double weight = 1;
  double target = 0;
};

// `samples` must be sorted and not empty. Integer weights count rows and work with every
// definition; others require one of the two inverted-CDF definitions.
std::vector<double> weighted_quantiles(std::span<const Sample> samples, QuantileMethod method,
                                       std::span<const double> levels);
// Lloyd's algorithm from equally spaced centres; edges are midpoints between centres.
std::vector<double> kmeans_edges(std::span<const Sample> samples, std::int64_t bins);
// Split points of a decision tree on one column with up to `bins` leaves, grown best-first by Gini
// impurity (classes) or squared error; edges are midpoints between values.
std::vector<double> tree_edges(std::span<const Sample> samples, std::int64_t bins, bool classes);

}  // namespace causeway::tokenizer
