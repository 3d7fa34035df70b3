#include "cli/tokenizer_fit.h"

#include "cli/options.h"
#include "cli/tokenizer_report.h"

#include "causeway/core/environment.h"
#include "causeway/tokenizer/streaming/streaming.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>

namespace causeway::cli {

using namespace causeway::tokenizer;

Options options_of(const FitOptions& given) {
  Options options;
  describe_options().read(&options, given.settings.given());
  const auto declare = [&](const std::vector<std::string>& names, ColumnKind kind) {
    for (const std::string& name : names) options.columns[name].kind = kind;
  };
  declare(given.input.categorical, ColumnKind::categorical);
  declare(given.input.numeric, ColumnKind::numeric);
  declare(given.input.boolean, ColumnKind::boolean);
  declare(given.input.datetime, ColumnKind::datetime);
  for (const std::string& entry : given.column_bins) {
    const std::size_t equals = entry.rfind('=');
    std::int64_t bins = 0;
    if (equals == std::string::npos || !CLI::detail::lexical_cast(entry.substr(equals + 1), bins)) {
      throw CLI::ValidationError("--column-bins", "expected name=number, got \"" + entry + "\"");
    }
    options.columns[entry.substr(0, equals)].bins = bins;
  }
  return options;
}

namespace {

// The target or weights column.
const TableColumn& find_column(const Table& table, const std::string& name, const char* what) {
  const std::int64_t place = table.find(name);
  if (place < 0) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("the {} column \"{}\" is not in the table", what, name));
  }
  return table.column(place);
}

// Codes of text labels, in order of appearance; other columns unchanged.
Tensor label_codes(const TableColumn& column, std::int64_t n_rows) {
  if (column.type != ValueType::text) return column.numbers;
  std::map<std::string_view, std::int64_t> numbers;
  Tensor classes = Tensor::empty({n_rows}, DType::i64);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const auto next = static_cast<std::int64_t>(numbers.size());
    classes.data_as<std::int64_t>()[row] = numbers.emplace(column.text.at(row), next).first->second;
  }
  return classes;
}

// A floating column of integers holds classes.
Tensor as_target(const Tensor& values) {
  if (!is_floating(values.dtype())) return values;
  for (const double value : values.to(Device::cpu()).to(DType::f64).to_vector<double>()) {
    if (value != static_cast<double>(static_cast<std::int64_t>(value))) return values;
  }
  return values.to(DType::i64);
}

Tokenizer fit_whole(const FitOptions& given, const Options& options) {
  const Device device = given.device_given ? given.device : parse_device("auto");
  InputOptions input = given.input;
  FitData data;
  Table table = read_table(input, device);
  if (!given.target.empty() || !given.weights.empty()) {
    if (!given.target.empty()) {
      data.target =
          as_target(label_codes(find_column(table, given.target, "target"), table.n_rows()));
      input.drop.push_back(given.target);
    }
    if (!given.weights.empty()) {
      const TableColumn& weights = find_column(table, given.weights, "weights");
      if (weights.type != ValueType::number) {
        fail(ErrorKind::invalid_argument, "tokenizer.fit",
             fmt::format("the weights column \"{}\" is not numeric", given.weights));
      }
      data.weights = weights.numbers;
      input.drop.push_back(given.weights);
    }
    table = read_table(input, device);
  }
  return Tokenizer::fit(table, options, data);
}

Tokenizer fit_streaming(const FitOptions& given, const Options& options) {
  if (!given.target.empty() || !given.weights.empty()) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         "a target or weights need the whole table in memory; raise --memory");
  }
  const auto memory = static_cast<std::int64_t>(parse_bytes("--memory", given.memory));
  PartialFit part;
  bool begun = false;
  do {
    for_each_batch(given.input, "counting", {}, [&](const Table& batch) {
      if (!begun) part = PartialFit::begin(batch, options);
      begun = true;
      part.count(batch);
    });
    if (!begun) fail(ErrorKind::invalid_argument, "tokenizer.fit", "the table has no rows");
    part.plan(memory / 2);
  } while (part.needs_another_pass());
  for_each_batch(given.input, "collecting", {}, [&](const Table& batch) { part.collect(batch); });
  return part.finish();
}

void run_fit(const FitOptions& given) {
  if (given.settings.prints()) {
    const Options options = options_of(given);
    fmt::print("{}\n", describe_options().to_json(&options).dump(2));
    return;
  }
  if (given.out.empty() == given.partial.empty()) {
    throw CLI::ValidationError(given.out.empty() ? "--out is required, or --partial"
                                                 : "--out and --partial exclude each other");
  }
  if (given.partial.empty() && !given.against.empty()) {
    throw CLI::ValidationError("--against needs --partial");
  }
  if (!given.partial.empty()) return run_partial(given);
  const Options options = options_of(given);
  check(options);
  const std::size_t memory = parse_bytes("--memory", given.memory);
  const bool streams = is_csv(given.input.path) && file_size(given.input) > memory;
  Tokenizer tok = streams ? fit_streaming(given, options) : fit_whole(given, options);
  tok.source = given.input.path;
  tok.save(given.out);
  given.json ? print_summary_json(tok) : print_summary(tok);
}

}  // namespace

void add_fit(CLI::App& parent) {
  CLI::App* command =
      parent.add_subcommand("fit", "Fit bins and vocabularies to a table and write a tokenizer");
  const auto options = std::make_shared<FitOptions>();
  add_input(*command, options->input, true);
  const auto names = [&](const char* name, std::vector<std::string>& value, const char* about) {
    command->add_option(name, value, about)
        ->type_name("NAME,...")
        ->delimiter(',')
        ->allow_extra_args(false);
  };
  command->add_option("--out", options->out, "Output: the tokenizer, a JSON file")
      ->type_name("FILE");
  command
      ->add_option("--partial", options->partial,
                   "Write one part of a distributed fit instead; `merge` combines the parts")
      ->type_name("FILE");
  command
      ->add_option("--against", options->against,
                   "With --partial: the plan written by `merge`, for the second pass")
      ->type_name("FILE");
  options->settings.add_to(*command, describe_options());
  command->add_option("--column-bins", options->column_bins, "Number of bins of single columns")
      ->type_name("NAME=N,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  names("--categorical", options->input.categorical, "Categorical columns");
  names("--numeric", options->input.numeric, "Numeric columns");
  names("--boolean", options->input.boolean, "Boolean columns");
  names("--datetime", options->input.datetime, "Datetime columns");
  names("--drop", options->input.drop, "Columns to drop");
  command->add_option("--target", options->target, "Target column for tree bins")
      ->type_name("NAME");
  command->add_option("--weights", options->weights, "Column of sample weights")->type_name("NAME");
  command
      ->add_option("--memory", options->memory,
                   "Memory limit; larger files are read twice instead of held in memory [4GiB]")
      ->type_name("SIZE");
  add_device(*command, options->device, "Device to fit on")->each([options](const std::string&) {
    options->device_given = true;
  });
  add_json(*command, options->json);
  add_quiet(*command, options->input.quiet);
  command->callback([options] { run_fit(*options); });
}

}  // namespace causeway::cli
