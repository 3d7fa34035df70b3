// Fitting numeric columns: edges, counts and medians.
#pragma once

#include "causeway/tokenizer/fit/blocks.h"
#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/tokenizer.h"

#include <span>

namespace causeway::tokenizer {

// Fits the columns of a block; `columns` have their names, everything else is set here.
void fit_numeric(const Block& block, const Options& options, const FitData& data,
                 std::span<Column> columns);

// Sets bins and medians of a column from the quantiles at levels_for(its options) of n_valid
// values.
std::vector<double> levels_for(const Options& options, const std::string& name, bool with_medians);
void set_quantile_bins(const Options& options, std::span<const double> quantiles, bool with_medians,
                       Column& column);

// Applies the rule for duplicate edges.
void set_edges(const Options& options, std::span<const double> edges, Column& column);
// Throws if [low, high] is not finite.
void require_finite(double low, double high, const Column& column, Strategy strategy);

// Medians from counts: the levels (inverted_cdf) that non-empty bins need, and the medians from the
// values found there; empty bins get their centres.
std::vector<double> median_levels(std::span<const std::int64_t> counts);
void set_medians(std::span<const double> found, Bins& bins);

// Options of one column.
std::int64_t bins_of(const Options& options, const std::string& name);
Strategy strategy_of(const Options& options, const std::string& name);

// Adds the block's values to the bin counts and its missing values to n_missing.
std::vector<std::vector<std::int64_t>> count_block(const Block& block,
                                                   std::span<const Column> columns,
                                                   std::vector<std::int64_t>& n_missing);

}  // namespace causeway::tokenizer
