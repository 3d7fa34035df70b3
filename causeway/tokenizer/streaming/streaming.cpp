#include "causeway/tokenizer/streaming/streaming.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/fit/edges.h"
#include "causeway/tokenizer/fit/fit_numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::tokenizer {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "tokenizer.fit", message);
}

Block block_of(const Table& table, std::int64_t place) {
  const std::int64_t places[] = {place};
  return blocks_of(table, places, "tokenizer.fit").front();
}

// The index of the batch's column of that name.
std::int64_t place_of(const Table& batch, const Column& column) {
  const std::int64_t place = batch.find(column.name);
  if (place < 0) refuse(fmt::format("column \"{}\" is missing from a batch", column.name));
  return place;
}

bool has_given_edges(const Options& options, const std::string& name) {
  const auto own = options.columns.find(name);
  return own != options.columns.end() && !own->second.edges.empty();
}

// Whether a column of an unexpected type has no values, so that the type does not matter.
bool is_all_missing(const TableColumn& column, std::int64_t n_rows) {
  if (n_rows == 0) return true;
  if (column.missing.numel() > 0) {
    const auto marks = column.missing.to_vector<bool>();
    if (std::find(marks.begin(), marks.end(), false) == marks.end()) return true;
  }
  if (column.type != ValueType::number) return false;
  const auto values = host_values(column);
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

bool suits(const TableColumn& from, const NumericPart& part) {
  return from.type != ValueType::text && binned_dtype(from.numbers.dtype()) == part.dtype();
}

void require_streamable(const Options& options, const std::string& name) {
  const Strategy strategy = strategy_of(options, name);
  if (has_given_edges(options, name) || strategy == Strategy::quantile ||
      strategy == Strategy::uniform) {
    return;
  }
  refuse(
      fmt::format("column \"{}\": strategy \"{}\" requires the whole column; use \"quantile\" or "
                  "\"uniform\", or fit one table",
                  name, to_string(strategy)));
}

}  // namespace

PartialFit PartialFit::begin(const Table& given, const Options& options) {
  Table room;
  const Table& sample = tables::categories_as_text(given, room);
  check(options);
  if (sample.n_columns() == 0) refuse("cannot fit a table without columns");
  check_columns(sample, options);
  PartialFit fit;
  fit.options_ = options;
  for (std::int64_t i = 0; i < sample.n_columns(); ++i) {
    Part part;
    part.column = new_column(sample.column(i), 0, options);
    if (part.column.kind == ColumnKind::numeric) {
      require_streamable(options, part.column.name);
      part.counted = NumericPart(block_of(sample, i));
    }
    fit.parts_.push_back(std::move(part));
  }
  return fit;
}

std::vector<Column> PartialFit::columns() const {
  std::vector<Column> columns;
  for (const Part& part : parts_) columns.push_back(part.column);
  return columns;
}

NumericGoal PartialFit::goal_of(const Part& part) const {
  const std::string& name = part.column.name;
  NumericGoal goal;
  goal.method = options_.quantile;
  goal.with_medians = options_.statistics;
  Column known = part.column;
  known.bins.closed = options_.closed;
  known.bins.strategy = strategy_of(options_, name);
  if (has_given_edges(options_, name)) {
    known.bins.edges = options_.columns.at(name).edges;
  } else if (known.bins.strategy == Strategy::uniform) {
    known.bins.edges = {0, 0};
    if (part.counted.n_values() > 0) {
      const double low = part.counted.low(), high = part.counted.high();
      require_finite(low, high, known, Strategy::uniform);
      set_edges(options_, even_edges(low, high, bins_of(options_, name)), known);
    }
  } else {
    goal.levels = levels_for(options_, name, options_.statistics);
  }
  goal.bins = std::move(known.bins);
  return goal;
}

PartialFit PartialFit::fresh() const {
  PartialFit fit = *this;
  fit.n_seen_ = 0;
  if (is_first()) fit.n_rows_ = 0;
  for (Part& part : fit.parts_) {
    if (part.column.kind == ColumnKind::numeric) {
      if (planned_) part.collected = part.collected.fresh();
      if (!planned_) part.counted = part.counted.fresh();
    }
    if (!is_first()) continue;  // results of the first pass are part of the plan
    part.categories = {};
    part.times = {};
    part.column.n_missing = 0;
  }
  return fit;
}

void PartialFit::count(const Table& given) {
  Table room;
  const Table& batch = tables::categories_as_text(given, room);
  if (planned_) refuse("counting is finished; call collect()");
  for (Part& part : parts_) {
    const bool numeric = part.column.kind == ColumnKind::numeric;
    if (!numeric && !is_first()) continue;
    const std::int64_t place = place_of(batch, part.column);
    const TableColumn& from = batch.column(place);
    if (numeric && !suits(from, part.counted) && is_all_missing(from, batch.n_rows())) {
      if (is_first()) part.column.n_missing += batch.n_rows();
    } else if (numeric) {
      const bool uniform = strategy_of(options_, part.column.name) == Strategy::uniform;
      const std::int64_t missing = part.counted.count(block_of(batch, place), uniform);
      if (is_first()) part.column.n_missing += missing;
    } else if (part.column.kind == ColumnKind::datetime) {
      part.times.add(from, batch.n_rows(), part.column);
    } else if (part.column.kind == ColumnKind::boolean) {
      count_booleans(from, batch.n_rows(), part.categories, part.column);
    } else {
      count_categories(from, batch.n_rows(), part.categories, part.column);
    }
  }
  n_seen_ += batch.n_rows();
  if (is_first()) n_rows_ += batch.n_rows();
}

void PartialFit::plan(std::int64_t memory) {
  if (planned_) refuse("the fit is already planned");
  require_all_rows();
  std::int64_t bytes = 0;
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    std::int64_t n = 0;
    part.collected = part.counted.plan(goal_of(part), n);
    bytes += n * static_cast<std::int64_t>(size_of(part.counted.dtype()));
  }
  if (bytes > memory && again_ && bytes >= planned_bytes_) {
    refuse(
        fmt::format("the values around the quantiles take {} bytes and cannot be narrowed further; "
                    "allow more memory than {}",
                    bytes, memory));
  }
  planned_bytes_ = bytes;
  again_ = bytes > memory;
  planned_ = !again_;
  n_seen_ = 0;
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    part.counted = again_ ? part.counted.refined(goal_of(part)) : part.counted.summary();
    if (again_) part.collected = {};
  }
  plan_id_ = "new";
  plan_id_ = state().metadata.at("hash");
}

void PartialFit::collect(const Table& given) {
  Table room;
  const Table& batch = tables::categories_as_text(given, room);
  if (!planned_) refuse("there is no plan yet; count all batches, then call plan()");
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    const std::int64_t place = place_of(batch, part.column);
    const TableColumn& from = batch.column(place);
    if (!suits(from, part.counted) && is_all_missing(from, batch.n_rows())) continue;
    part.collected.collect(block_of(batch, place));
  }
  n_seen_ += batch.n_rows();
}

void PartialFit::require_all_rows() const {
  if (is_first() || n_seen_ == n_rows_) return;
  const char* word = planned_ ? "collect" : "count";
  refuse(n_seen_ < n_rows_
             ? fmt::format("the plan has {} rows but {} were {}ed; {} every batch, and merge every "
                           "part",
                           n_rows_, n_seen_, word, word)
             : fmt::format("the plan has {} rows but {} were {}ed; use the same rows, and merge "
                           "every part once",
                           n_rows_, n_seen_, word));
}

Column PartialFit::finish_numeric(const Part& part, bool exact) const {
  Column column = part.column;
  const NumericGoal goal = goal_of(part);
  column.bins = goal.bins;
  if (column.bins.edges.empty()) {
    double ignored = 0;
    const std::vector<double> found = exact ? part.collected.quantiles(goal.method, goal.levels)
                                            : part.counted.estimates(goal, ignored);
    column.bins.edges = {0, 0};
    if (!found.empty()) set_quantile_bins(options_, found, options_.statistics, column);
  }
  if (!exact || !options_.statistics) return column;
  column.bins.counts = part.collected.bin_counts(column.bins);
  if (!column.bins.medians.empty()) return column;
  set_medians(
      part.collected.quantiles(QuantileMethod::inverted_cdf, median_levels(column.bins.counts)),
      column.bins);
  return column;
}

Tokenizer PartialFit::assemble(bool exact) const {
  if (n_rows_ == 0) refuse("no rows were counted");
  std::vector<Column> columns;
  for (const Part& part : parts_) {
    Column column = part.column;
    if (column.kind == ColumnKind::numeric) {
      column = finish_numeric(part, exact);
    } else if (column.kind == ColumnKind::datetime) {
      finish_times(part.times, options_, column);
    } else {
      finish_categories(part.categories, options_, column);
    }
    column.n_rows = n_rows_;
    finish_missing(options_, column);
    columns.push_back(std::move(column));
  }
  return {std::move(columns), options_};
}

Tokenizer PartialFit::finish() const {
  if (!planned_) refuse("there is no plan yet; count, plan and collect first");
  require_all_rows();
  return assemble(true);
}

Tokenizer PartialFit::estimate() const {
  if (planned_) refuse("estimates are only available before plan()");
  require_all_rows();
  return assemble(false);
}

std::vector<double> PartialFit::rank_errors() const {
  if (planned_) refuse("estimates are only available before plan()");
  std::vector<double> errors;
  for (const Part& part : parts_) {
    double error = 0;
    if (part.column.kind == ColumnKind::numeric) {
      (void)part.counted.estimates(goal_of(part), error);
    }
    errors.push_back(error);
  }
  return errors;
}

}  // namespace causeway::tokenizer
