#include "causeway/tokenizer/fit/fit_numeric.h"

#include "causeway/core/advice.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"
#include "causeway/tokenizer/fit/edges.h"
#include "causeway/tokenizer/encode/encoder.h"
#include "causeway/tokenizer/fit/order_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::tokenizer {

namespace {

const ColumnOptions* own_options(const Options& options, const std::string& name) {
  const auto found = options.columns.find(name);
  return found == options.columns.end() ? nullptr : &found->second;
}

bool has_given_edges(const Options& options, const std::string& name) {
  const ColumnOptions* own = own_options(options, name);
  return own != nullptr && !own->edges.empty();
}

std::vector<double> edge_levels(const Options& options, const std::string& name) {
  const ColumnOptions* own = own_options(options, name);
  if (own != nullptr && !own->levels.empty()) return own->levels;
  return even_levels(bins_of(options, name));
}

// Column `at` of the block, sorted, with weights and targets.
std::vector<Sample> samples_of(const Block& block, std::int64_t at, const FitData& data) {
  TableColumn column;
  column.numbers = block.matrix.select(1, at);
  if (block.missing.numel() > 0) column.missing = block.missing.select(1, at);
  const std::vector<double> values = host_values(column);
  const auto per_row = [&](const Tensor& tensor, const char* what) {
    std::vector<double> numbers;
    if (tensor.numel() == 0) return numbers;
    numbers = tensor.to(Device::cpu()).to(DType::f64).flatten().to_vector<double>();
    if (numbers.size() != values.size()) {
      fail(ErrorKind::shape_mismatch, "tokenizer.fit",
           fmt::format("{} {} for {} rows", numbers.size(), what, values.size()));
    }
    return numbers;
  };
  const std::vector<double> weights = per_row(data.weights, "weights");
  const std::vector<double> targets = per_row(data.target, "targets");
  std::vector<Sample> samples;
  bool any_weight = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Sample sample{values[i] + 0.0, weights.empty() ? 1 : weights[i],
                        targets.empty() ? 0 : targets[i]};
    if (!(sample.weight >= 0) || std::isinf(sample.weight)) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           fmt::format("weights must be finite and non-negative, got {} in row {}", sample.weight,
                       i));
    }
    any_weight = any_weight || sample.weight > 0;
    if (!std::isnan(values[i]) && sample.weight > 0) samples.push_back(sample);
  }
  if (!any_weight) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         "all sample weights are zero; at least one must be positive");
  }
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.value < b.value; });
  return samples;
}

// Strategies that need the sorted column.
void fit_sorted(const Block& block, std::int64_t at, const Options& options, const FitData& data,
                Column& column) {
  const Strategy strategy = strategy_of(options, column.name);
  const std::vector<Sample> samples = samples_of(block, at, data);
  const std::int64_t bins = bins_of(options, column.name);
  if (samples.empty()) {
    column.bins.edges = {0, 0};
    return;
  }
  const double low = samples.front().value, high = samples.back().value;
  if (strategy == Strategy::quantile) {
    set_edges(options,
              weighted_quantiles(samples, options.quantile, edge_levels(options, column.name)),
              column);
    return;
  }
  require_finite(low, high, column, strategy);
  if (strategy == Strategy::uniform) return set_edges(options, even_edges(low, high, bins), column);
  if (strategy == Strategy::kmeans) {
    return set_edges(options,
                     low == high ? std::vector<double>{low, high} : kmeans_edges(samples, bins),
                     column);
  }
  if (data.target.numel() == 0) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("column \"{}\": strategy \"tree\" needs a target; pass {}", column.name,
                     advice("--target", "y")));
  }
  column.bins.edges = tree_edges(samples, bins, !is_floating(data.target.dtype()));
}

// Medians of bins with known counts: the quantiles at the middle of each bin.
void add_medians(const Block& block, std::span<Column> columns, const std::vector<bool>& lacks) {
  std::vector<std::vector<double>> levels(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (lacks[c]) levels[c] = median_levels(columns[c].bins.counts);
  }
  const auto found =
      find_quantiles(block.matrix, block.missing, QuantileMethod::inverted_cdf, levels);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (lacks[c]) set_medians(found[c].values, columns[c].bins);
  }
}

// Whether a value between a bin's edges, inclusive, belongs to it and not to its neighbour.
bool holds(const Bins& bins, std::size_t bin, double value) {
  if (bins.closed == Closed::left) {
    return bin + 2 == bins.edges.size() || value < bins.edges[bin + 1];
  }
  return bin == 0 || value > bins.edges[bin];
}

}  // namespace

std::int64_t bins_of(const Options& options, const std::string& name) {
  const ColumnOptions* own = own_options(options, name);
  return own != nullptr ? own->bins.value_or(options.bins) : options.bins;
}

Strategy strategy_of(const Options& options, const std::string& name) {
  const ColumnOptions* own = own_options(options, name);
  return own != nullptr ? own->strategy.value_or(options.strategy) : options.strategy;
}

void set_edges(const Options& options, std::span<const double> edges, Column& column) {
  column.bins.edges.clear();
  for (const std::size_t i : kept_edges(edges, options, column.name)) {
    column.bins.edges.push_back(edges[i]);
  }
}

void require_finite(double low, double high, const Column& column, Strategy strategy) {
  if (std::isfinite(low) && std::isfinite(high) && std::isfinite(high - low)) return;
  fail(ErrorKind::invalid_argument, "tokenizer.fit",
       fmt::format(
           "column \"{}\": strategy \"{}\" requires finite values, but they range from {} to "
           "{}; use \"quantile\", or pass edges",
           column.name, to_string(strategy), low, high));
}

std::vector<double> levels_for(const Options& options, const std::string& name, bool with_medians) {
  if (has_given_edges(options, name)) return {};
  const Strategy strategy = strategy_of(options, name);
  if (strategy == Strategy::uniform) return {0, 1};
  if (strategy != Strategy::quantile) return {};
  const std::vector<double> levels = edge_levels(options, name);
  if (!with_medians) return levels;
  std::vector<double> finer;
  finer.reserve(2 * levels.size());
  finer.push_back(levels.front());
  for (std::size_t i = 1; i < levels.size(); ++i) {
    finer.push_back((levels[i - 1] + levels[i]) / 2);
    finer.push_back(levels[i]);
  }
  return finer;
}

void set_quantile_bins(const Options& options, std::span<const double> quantiles, bool with_medians,
                       Column& column) {
  const std::size_t step = with_medians ? 2 : 1;
  std::vector<double> edges;
  edges.reserve(quantiles.size());
  for (std::size_t i = 0; i < quantiles.size(); i += step) edges.push_back(quantiles[i]);
  const std::vector<std::size_t> kept = kept_edges(edges, options, column.name);
  column.bins.edges.clear();
  column.bins.medians.clear();
  column.bins.edges.reserve(kept.size());
  for (const std::size_t i : kept) column.bins.edges.push_back(edges[i]);
  for (std::size_t i = 0; with_medians && i + 1 < kept.size(); ++i) {
    // The quantile halfway between the levels; with many equal values on the edge it may belong to
    // the neighbour.
    const double middle = quantiles[kept[i] + kept[i + 1]];
    column.bins.medians.push_back(
        holds(column.bins, i, middle) ? middle : column.bins.centre(static_cast<std::int64_t>(i)));
  }
}

std::vector<std::vector<std::int64_t>> count_block(const Block& block,
                                                   std::span<const Column> columns,
                                                   std::vector<std::int64_t>& n_missing) {
  std::vector<std::vector<std::int64_t>> counts;
  for (const Column& column : columns) {
    counts.emplace_back(static_cast<std::size_t>(column.bins.n_bins()), 0);
  }
  n_missing.assign(columns.size(), 0);
  if (block.matrix.numel() == 0) return counts;
  const Device device = block.matrix.device();
  const StreamView stream = current_stream(device);
  const GuideSet guides = guides_of(columns, block.matrix.dtype(), device);
  const std::int64_t row = guides.thresholds.size(1) + 1;
  const Tensor found = zeros({static_cast<std::int64_t>(columns.size()), row}, DType::i64, device);
  kernels::count_bins(stream, columns_of(block.matrix, block.missing, stream), guides.view(stream),
                      operand(found, stream));
  const auto all = found.to_vector<std::int64_t>();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto* own = all.data() + c * static_cast<std::size_t>(row);
    const std::size_t n = std::min(counts[c].size(), static_cast<std::size_t>(row - 1));
    std::copy_n(own, n, counts[c].begin());
    n_missing[c] = own[row - 1];
  }
  return counts;
}

std::vector<double> median_levels(std::span<const std::int64_t> counts) {
  double before = 0, all = 0;
  for (const std::int64_t count : counts) all += static_cast<double>(count);
  std::vector<double> levels;
  for (const std::int64_t count : counts) {
    const double middle = before + 0.5 * static_cast<double>(count);
    if (count > 0) levels.push_back(std::min(middle / all, 1.0));
    before += static_cast<double>(count);
  }
  return levels;
}

void set_medians(std::span<const double> found, Bins& bins) {
  bins.medians.clear();
  for (std::size_t b = 0, next = 0; b < bins.counts.size(); ++b) {
    bins.medians.push_back(bins.counts[b] > 0 ? found[next++]
                                              : bins.centre(static_cast<std::int64_t>(b)));
  }
}

void fit_numeric(const Block& block, const Options& options, const FitData& data,
                 std::span<Column> columns) {
  const bool weighted = data.weights.numel() > 0;
  std::vector<std::vector<double>> levels;
  bool any_level = false;
  for (const Column& column : columns) {
    levels.push_back(weighted ? std::vector<double>()
                              : levels_for(options, column.name, options.statistics));
    any_level = any_level || !levels.back().empty();
  }
  std::vector<ColumnQuantiles> found(columns.size());
  if (any_level || !options.statistics) {
    found = find_quantiles(block.matrix, block.missing, options.quantile, levels);
  }
  std::vector<bool> lacks_medians(columns.size(), false);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    Column& column = columns[c];
    const Strategy strategy = strategy_of(options, column.name);
    const auto& values = found[c].values;
    column.bins.closed = options.closed;
    column.bins.strategy = strategy;
    column.n_missing = found[c].n_missing;
    if (has_given_edges(options, column.name)) {
      column.bins.edges = options.columns.at(column.name).edges;
    } else if (levels[c].empty()) {
      fit_sorted(block, static_cast<std::int64_t>(c), options, data, column);
    } else if (values.empty()) {
      column.bins.edges = {0, 0};
    } else if (strategy == Strategy::uniform) {
      require_finite(values[0], values[1], column, strategy);
      set_edges(options, even_edges(values[0], values[1], bins_of(options, column.name)), column);
    } else {
      set_quantile_bins(options, values, options.statistics, column);
    }
    lacks_medians[c] = column.bins.medians.empty();
  }
  if (!options.statistics) return;
  std::vector<std::int64_t> n_missing;
  const auto counts = count_block(block, columns, n_missing);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c].bins.counts = counts[c];
    columns[c].n_missing = n_missing[c];
  }
  if (std::find(lacks_medians.begin(), lacks_medians.end(), true) != lacks_medians.end()) {
    add_medians(block, columns, lacks_medians);
  }
}

}  // namespace causeway::tokenizer
