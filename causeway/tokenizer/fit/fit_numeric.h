// Fitting numeric columns: edges, counts and medians.
#pragma once

#include "causeway/tokenizer/fit/blocks.h"
#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/tokenizer.h"

#include <span>

namespace causeway::tokenizer {

// Fits the columns of a block; `columns` have their names, and get everything else.
void fit_numeric(const Block& block, const Options& options, const FitData& data,
                 std::span<Column> columns);

// Sets bins and medians of a column from the quantiles at levels_for(column's options), of which
// there are n_valid values behind.
std::vector<double> levels_for(const Options& options, const std::string& name, bool with_medians);
void set_quantile_bins(const Options& options, std::span<const double> quantiles, bool with_medians,
                       Column& column);

// Keeps of the edges what the rule for duplicates keeps.
void set_edges(const Options& options, std::span<const double> edges, Column& column);
// Throws where values from `low` to `high` cannot be cut evenly.
void require_finite(double low, double high, const Column& column, Strategy strategy);

// Medians of bins by their counts: the levels (of inverted_cdf) that the bins with values ask for,
// and the bins' medians from what was found there; the others get their centres.
std::vector<double> median_levels(std::span<const std::int64_t> counts);
void set_medians(std::span<const double> found, Bins& bins);

// What one column is fitted with.
std::int64_t bins_of(const Options& options, const std::string& name);
Strategy strategy_of(const Options& options, const std::string& name);

// Adds the counts of the block's values to the columns' bins and their missing ones.
std::vector<std::vector<std::int64_t>> count_block(const Block& block,
                                                   std::span<const Column> columns,
                                                   std::vector<std::int64_t>& n_missing);

}  // namespace causeway::tokenizer
