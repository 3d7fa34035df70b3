#include "causeway/tokenizer/streaming.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/edges.h"
#include "causeway/tokenizer/fit_numeric.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::tokenizer {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "tokenizer.fit", message);
}

Block block_of(const Table& table, std::int64_t place) {
  const std::int64_t places[] = {place};
  return blocks_of(table, places, "tokenizer.fit").front();
}

// The batch's column of that name.
std::int64_t place_of(const Table& batch, const Column& column) {
  const std::int64_t place = batch.find(column.name);
  if (place < 0) refuse(fmt::format("a batch lacks column \"{}\"", column.name));
  return place;
}

void set_edges(const Options& options, const std::vector<double>& quantiles, Column& column) {
  const auto own = options.columns.find(column.name);
  column.bins.closed = options.closed;
  column.bins.strategy = strategy_of(options, column.name);
  if (own != options.columns.end() && !own->second.edges.empty()) {
    column.bins.edges = own->second.edges;
  } else if (quantiles.empty()) {
    column.bins.edges = {0, 0};
  } else if (column.bins.strategy == Strategy::uniform) {
    const std::vector<double> edges =
        even_edges(quantiles[0], quantiles[1], bins_of(options, column.name));
    for (const std::size_t i : kept_edges(edges, options, column.name)) {
      column.bins.edges.push_back(edges[i]);
    }
  } else {
    set_quantile_bins(options, quantiles, options.statistics, column);
  }
}

}  // namespace

PartialFit PartialFit::begin(const Table& sample, const Options& options) {
  check(options);
  if (sample.n_columns() == 0 || sample.n_rows() == 0) refuse("the first batch is empty");
  PartialFit fit;
  fit.options_ = options;
  for (std::int64_t i = 0; i < sample.n_columns(); ++i) {
    Part part;
    part.column = new_column(sample.column(i), 0, options);
    const std::string& name = part.column.name;
    if (part.column.kind == ColumnKind::numeric) {
      const Strategy strategy = strategy_of(options, name);
      const auto own = options.columns.find(name);
      const bool given = own != options.columns.end() && !own->second.edges.empty();
      if (!given && strategy != Strategy::quantile && strategy != Strategy::uniform) {
        refuse(
            fmt::format("column \"{}\": strategy \"{}\" needs the whole column at once; use "
                        "\"quantile\" or \"uniform\", or fit one table",
                        name, to_string(strategy)));
      }
      part.numbers = NumericPart(block_of(sample, i), options.quantile,
                                 levels_for(options, name, options.statistics));
    }
    fit.parts_.push_back(std::move(part));
  }
  return fit;
}

PartialFit PartialFit::fresh() const {
  PartialFit fit = *this;
  for (Part& part : fit.parts_) {
    part.numbers = part.numbers.fresh();
    if (planned_) continue;
    part.categories = {};
    part.times = {};
    part.column.n_rows = 0;
    part.column.n_missing = 0;
  }
  return fit;
}

void PartialFit::count(const Table& batch) {
  if (planned_) refuse("the counting is over; collect now");
  const bool again = again_;  // categories and dates were counted in the first pass
  for (Part& part : parts_) {
    const std::int64_t place = place_of(batch, part.column);
    if (part.column.kind == ColumnKind::numeric) {
      part.numbers.count(block_of(batch, place));
      if (!again) part.column.n_rows += batch.n_rows();
      continue;
    }
    if (again) continue;
    part.column.n_rows += batch.n_rows();
    const TableColumn& from = batch.column(place);
    if (part.column.kind == ColumnKind::datetime) {
      part.times.add(from, batch.n_rows(), part.column);
    } else if (part.column.kind == ColumnKind::boolean) {
      count_truths(from, batch.n_rows(), part.categories, part.column);
    } else {
      count_categories(from, batch.n_rows(), part.categories, part.column);
    }
  }
}

void PartialFit::plan(std::int64_t memory) {
  if (planned_) refuse("there is a plan already");
  std::int64_t bytes = 0;
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    const std::int64_t n = part.numbers.plan();
    // No more than 32 bits number, whatever the memory.
    if (n >= std::int64_t{kNowhere}) memory = std::min(memory, n);
    bytes += n * static_cast<std::int64_t>(part.numbers.value_size());
  }
  if (bytes > memory && again_ && bytes >= planned_bytes_) {
    refuse(
        fmt::format("the stretches that hold the quantiles take {} bytes and cannot be cut finer; "
                    "allow more memory than {}",
                    bytes, memory));
  }
  planned_bytes_ = bytes;
  again_ = bytes > memory;
  planned_ = !again_;
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    again_ ? part.numbers.refine() : part.numbers.prepare();
  }
}

void PartialFit::collect(const Table& batch) {
  if (!planned_) refuse("there is no plan yet; count all batches, then plan");
  for (Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric) continue;
    part.numbers.collect(block_of(batch, place_of(batch, part.column)));
  }
}

void PartialFit::merge(const PartialFit& other) {
  if (parts_.size() != other.parts_.size() || planned_ != other.planned_) {
    refuse("only parts of one fit, at the same step, merge");
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& mine = parts_[i];
    const Part& theirs = other.parts_[i];
    if (mine.column.kind == ColumnKind::numeric) mine.numbers.merge(theirs.numbers);
    if (planned_) continue;
    if (mine.column.kind != ColumnKind::numeric || !again_) {
      mine.column.n_rows += theirs.column.n_rows;
    }
    mine.column.n_missing += theirs.column.n_missing;
    mine.categories.merge(theirs.categories);
    mine.times.merge(theirs.times);
  }
}

Tokenizer PartialFit::assemble(bool exact) const {
  std::vector<Column> columns;
  for (const Part& part : parts_) {
    Column column = part.column;
    if (column.kind == ColumnKind::numeric) {
      column.n_missing = part.numbers.n_missing();
      set_edges(options_, part.numbers.quantiles(exact), column);
      const bool counts = exact && options_.statistics &&
                          column.bins.strategy == Strategy::quantile &&
                          !column.bins.medians.empty();
      if (counts) column.bins.counts = part.numbers.bin_counts(column.bins);
    } else if (column.kind == ColumnKind::datetime) {
      finish_times(part.times, options_, column);
    } else {
      finish_categories(part.categories, options_, column);
    }
    if (column.n_rows == 0) refuse("no rows were counted");
    finish_missing(options_, column);
    columns.push_back(std::move(column));
  }
  return {std::move(columns), options_};
}

Tokenizer PartialFit::finish() const {
  if (!planned_) refuse("there is no plan yet; count, plan and collect first");
  for (const Part& part : parts_) {
    if (part.column.kind != ColumnKind::numeric || part.numbers.complete()) continue;
    refuse(
        fmt::format("column \"{}\": fewer values were collected than counted; collect every batch",
                    part.column.name));
  }
  return assemble(true);
}

Tokenizer PartialFit::estimate() const {
  PartialFit planned = *this;
  for (Part& part : planned.parts_) {
    if (part.column.kind == ColumnKind::numeric) part.numbers.plan();
  }
  return planned.assemble(false);
}

std::vector<double> PartialFit::rank_errors() const {
  std::vector<double> errors;
  for (const Part& part : parts_) {
    NumericPart numbers = part.numbers;
    if (part.column.kind == ColumnKind::numeric) numbers.plan();
    errors.push_back(part.column.kind == ColumnKind::numeric ? numbers.rank_error() : 0);
  }
  return errors;
}

}  // namespace causeway::tokenizer
