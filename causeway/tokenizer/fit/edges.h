// From what was found in a column to its edges; and the ways to find edges that need the column
// sorted, on the host: weighted quantiles, k-means and a decision tree.
#pragma once

#include "causeway/tokenizer/options.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace causeway::tokenizer {

// bins + 1 levels from 0 to 1, as numpy.linspace gives them.
std::vector<double> even_levels(std::int64_t bins);
// bins + 1 edges of one width, as numpy.linspace gives them.
std::vector<double> even_edges(double low, double high, std::int64_t bins);

// Which edges stay, by their numbers; throws where the rule is `error` and two fall together. A
// column of one value keeps its first and last edge.
std::vector<std::size_t> kept_edges(std::span<const double> edges, const Options& options,
                                    const std::string& column);

// A value with its weight and target; what has weight 0 or is missing is left out.
struct Sample {
  double value = 0;
  double weight = 1;
  double target = 0;
};

// `samples` sorted by value, none missing, one or more. Whole weights count rows and go with every
// definition; others need one of the two inverted ones.
std::vector<double> weighted_quantiles(std::span<const Sample> samples, QuantileMethod method,
                                       std::span<const double> levels);
// Lloyd's algorithm from evenly spread centres; edges lie halfway between centres.
std::vector<double> kmeans_edges(std::span<const Sample> samples, std::int64_t bins);
// Cuts of a decision tree of one column with up to `bins` leaves, grown best split first, by Gini's
// impurity for classes and by squared error otherwise; edges lie halfway between values.
std::vector<double> tree_edges(std::span<const Sample> samples, std::int64_t bins, bool classes);

}  // namespace causeway::tokenizer
