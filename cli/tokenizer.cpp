#include "cli/tokenizer.h"

#include "cli/options.h"
#include "cli/tokenizer_input.h"
#include "cli/tokenizer_report.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/data/npy.h"
#include "causeway/tokenizer/export.h"
#include "causeway/tokenizer/streaming.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace causeway::cli {

namespace {

using namespace causeway::tokenizer;

struct FitOptions {
  InputOptions input;
  Options fit;
  std::string out;
  std::string strategy = "quantile", quantile = "linear", closed = "left", duplicates = "drop";
  std::string missing_token = "auto";
  std::vector<std::string> fields, column_bins;
  std::string target, weights;
  std::string memory = "4GiB";
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
};

template <class Parse>
auto word(const char* option, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    const std::string message = error.message();
    throw CLI::ValidationError(option, message.substr(message.find("] ") + 2));
  }
}

Options options_of(const FitOptions& given) {
  Options options = given.fit;
  options.strategy = word("--strategy", given.strategy, parse_strategy);
  options.quantile = word("--quantile", given.quantile, parse_quantile_method);
  options.closed = word("--closed", given.closed, parse_closed);
  options.duplicates = word("--duplicates", given.duplicates, parse_duplicates);
  options.missing = word("--missing-token", given.missing_token, parse_missing_rule);
  for (const std::string& field : given.fields) {
    options.fields.push_back(word("--fields", field, parse_time_field));
  }
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

// The column that is not to be tokenized, as numbers.
Tensor beside(const Table& table, const std::string& name, const char* what) {
  const std::int64_t place = table.find(name);
  if (place < 0) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("the {} column \"{}\" is not in the table", what, name));
  }
  const TableColumn& column = table.column(place);
  if (column.type != ValueType::text) return column.numbers;
  // Classes given as text are numbered as they come.
  std::map<std::string_view, std::int64_t> numbers;
  Tensor classes = Tensor::empty({table.n_rows()}, DType::i64);
  for (std::int64_t row = 0; row < table.n_rows(); ++row) {
    const auto next = static_cast<std::int64_t>(numbers.size());
    classes.data_as<std::int64_t>()[row] = numbers.emplace(column.text.at(row), next).first->second;
  }
  return classes;
}

// Whole numbers in an f64 column are classes.
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
      data.target = as_target(beside(table, given.target, "target"));
      input.drop.push_back(given.target);
    }
    if (!given.weights.empty()) {
      data.weights = beside(table, given.weights, "weights");
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
  const Options options = options_of(given);
  check(options);
  const std::size_t memory = parse_bytes("--memory", given.memory);
  const bool streams = is_csv(given.input.path) && file_size(given.input) > memory;
  Tokenizer tok = streams ? fit_streaming(given, options) : fit_whole(given, options);
  tok.source = given.input.path;
  tok.save(given.out);
  given.json ? print_summary_json(tok) : print_summary(tok);
}

void add_fit(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("fit", "Find bins and vocabularies, and write them");
  const auto options = std::make_shared<FitOptions>();
  add_input(*command, options->input, true);
  const auto text = [&](const char* name, std::string& value, const char* about, const char* type) {
    command->add_option(name, value, about)->type_name(type)->capture_default_str();
  };
  const auto names = [&](const char* name, std::vector<std::string>& value, const char* about) {
    command->add_option(name, value, about)
        ->type_name("NAME,...")
        ->delimiter(',')
        ->allow_extra_args(false);
  };
  const auto count = [&](const char* name, std::int64_t& value, const char* about) {
    command->add_option(name, value, about)->type_name("N")->capture_default_str();
  };
  command->add_option("--out", options->out, "Where the tokenizer goes, a JSON file")
      ->type_name("FILE")
      ->required();
  count("--bins", options->fit.bins, "Bins of a numeric column");
  command->add_option("--column-bins", options->column_bins, "Bins of some columns")
      ->type_name("NAME=N,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  text("--strategy", options->strategy, "How edges are found", "quantile|uniform|kmeans|tree");
  text("--quantile", options->quantile, "Which of NumPy's nine quantiles",
       "inverted_cdf|averaged_inverted_cdf|closest_observation|interpolated_inverted_cdf|hazen|"
       "weibull|linear|median_unbiased|normal_unbiased");
  text("--closed", options->closed, "Which side of a bin belongs to it", "left|right");
  text("--duplicates", options->duplicates, "Edges that fall together", "drop|keep|error");
  command->add_option("--min-width", options->fit.min_width, "Narrower bins are dropped")
      ->type_name("X");
  text("--missing-token", options->missing_token, "A token for missing values",
       "auto|always|never");
  names("--categorical", options->input.categorical, "Columns of categories");
  names("--numeric", options->input.numeric, "Columns of numbers");
  names("--boolean", options->input.boolean, "Columns of true and false");
  names("--datetime", options->input.datetime, "Columns of dates");
  names("--drop", options->input.drop, "Columns to leave out");
  names("--fields", options->fields,
        "Parts of dates: year, month, day, weekday, hour, minute, second");
  count("--min-count", options->fit.min_count, "Rarer categories are unknown");
  count("--max-categories", options->fit.max_categories, "The most categories of a column");
  count("--unknown-buckets", options->fit.unknown_buckets, "Tokens shared by unknown categories");
  command->add_flag("--global", options->fit.global, "One vocabulary for all columns");
  names("--special-tokens", options->fit.special_tokens, "First tokens of that vocabulary");
  command->add_option("--target", options->target, "The column that tree bins are to tell apart")
      ->type_name("NAME");
  command->add_option("--weights", options->weights, "The column of the rows' weights")
      ->type_name("NAME");
  text("--memory", options->memory, "Larger files are read twice instead of held", "SIZE");
  add_device(*command, options->device, "Where to work; auto at first")
      ->each([options](const std::string&) { options->device_given = true; });
  add_json(*command, options->json);
  add_quiet(*command, options->input.quiet);
  command->callback([options] { run_fit(*options); });
}

struct UseOptions {
  InputOptions input;
  std::string tokenizer, out, dtype, how = "centre", html, format;
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
};

// How columns are read follows from what the tokenizer says they are.
std::vector<std::string> declare_columns(const Tokenizer& tok, InputOptions& input) {
  std::vector<std::string> names;
  for (const Column& column : tok.columns()) {
    names.push_back(column.name);
    switch (column.kind) {
      case ColumnKind::numeric: input.numeric.push_back(column.name); break;
      case ColumnKind::datetime: input.datetime.push_back(column.name); break;
      default: input.categorical.push_back(column.name);
    }
  }
  return names;
}

// A column that the file lacks is the tokenizer's to complain about, not the reader's.
void forget_absent(const InputOptions& given, InputOptions& input) {
  if (!is_csv(given.path)) return;
  CsvOptions plain;
  plain.header = !given.no_header;
  plain.delimiter = given.path.ends_with(".tsv") ? '\t'
                    : given.delimiter.empty()    ? ','
                                                 : given.delimiter[0];
  if (given.delimiter == "\\t" || given.delimiter == "tab") plain.delimiter = '\t';
  const CsvReader reader(std::filesystem::path(given.path), plain);
  const auto absent = [&](const std::string& name) {
    return std::find(reader.names().begin(), reader.names().end(), name) == reader.names().end();
  };
  for (auto* list : {&input.numeric, &input.datetime, &input.categorical})
    std::erase_if(*list, absent);
}

void run_encode(const UseOptions& given) {
  const Tokenizer tok = Tokenizer::load(given.tokenizer);
  InputOptions input = given.input;
  const std::vector<std::string> names = declare_columns(tok, input);
  forget_absent(given.input, input);
  const Device device = given.device_given ? given.device : parse_device("auto");
  EncodeOptions options;
  options.column_major = false;
  if (!given.dtype.empty()) options.dtype = parse_dtype(given.dtype);
  Tensor tokens;
  if (is_csv(input.path)) {
    std::vector<Tensor> parts;
    std::int64_t n_rows = 0;
    for_each_batch(input, "encoding", names, [&](const Table& batch) {
      parts.push_back(with_context(
          fmt::format("encoding rows {} and on of \"{}\"", n_rows, input.path),
          [&] { return tok.encode(on_device(batch, device), options).to(Device::cpu()); }));
      n_rows += batch.n_rows();
    });
    tokens = Tensor::empty({n_rows, static_cast<std::int64_t>(tok.slots().size())},
                           options.dtype.value_or(tok.token_dtype()));
    std::int64_t row = 0;
    for (Tensor& part : parts) {
      if (part.numel() > 0) tokens.slice(0, row, row + part.size(0)).copy_from(part);
      row += part.size(0);
      part = Tensor();
    }
  } else {
    tokens = tok.encode(read_table(input, device), options).to(Device::cpu());
  }
  save_npy(given.out, tokens);
  if (given.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"rows", tokens.size(0)},
                                              {"slots", tokens.size(1)},
                                              {"dtype", to_string(tokens.dtype())},
                                              {"n_tokens", tok.n_tokens()},
                                              {"out", given.out}}
                           .dump(2));
  } else {
    fmt::print("{} rows x {} slots of {} in {}\n", tokens.size(0), tokens.size(1),
               to_string(tokens.dtype()), given.out);
  }
}

void run_decode(const UseOptions& given) {
  const Tokenizer tok = Tokenizer::load(given.tokenizer);
  const Decoding how = word("--as", given.how, parse_decoding);
  const auto columns = tok.decode(load_npy(given.input.path), how);
  write_csv(given.out, columns);
  const std::size_t n_rows = columns.empty() ? 0 : columns[0].missing.size();
  given.json
      ? fmt::print("{}\n", nlohmann::ordered_json{{"rows", n_rows}, {"out", given.out}}.dump(2))
      : fmt::print("{} rows in {}\n", n_rows, given.out);
}

void run_inspect(const UseOptions& given) {
  const Tokenizer tok = Tokenizer::load(given.tokenizer);
  if (!given.format.empty()) {
    fmt::print("{}", export_as(tok, given.format));
    return;
  }
  std::optional<Comparison> comparison;
  if (!given.input.path.empty()) {
    InputOptions input = given.input;
    const std::vector<std::string> names = declare_columns(tok, input);
    forget_absent(given.input, input);
    comparison = compare(tok, read_table(input, Device::cpu(), names));
  }
  if (!given.html.empty()) write_page(given.html, tok, comparison);
  given.json ? print_inspection_json(tok, comparison) : print_inspection(tok, comparison);
}

void add_use(CLI::App& parent, const char* name, const char* about,
             void (*run)(const UseOptions&)) {
  CLI::App* command = parent.add_subcommand(name, about);
  const auto options = std::make_shared<UseOptions>();
  command->add_option("tokenizer", options->tokenizer, "The file that fit wrote")
      ->type_name("FILE")
      ->required();
  const std::string what = name;
  if (what == "decode") {
    command->add_option("tokens", options->input.path, "The .npy file that encode wrote")
        ->type_name("FILE")
        ->required();
    command->add_option("--as", options->how, "What a bin becomes")
        ->type_name("centre|median|range")
        ->capture_default_str();
  } else {
    add_input(*command, options->input, what == "encode");
  }
  if (what != "inspect") {
    command->add_option("--out", options->out, what == "encode" ? "A .npy file" : "A .csv file")
        ->type_name("FILE")
        ->required();
  }
  if (what == "encode") {
    command->add_option("--dtype", options->dtype, "Of the tokens; the smallest that holds them")
        ->type_name("u8|u16|i32");
    add_device(*command, options->device, "Where to work; auto at first")
        ->each([options](const std::string&) { options->device_given = true; });
  }
  if (what == "inspect") {
    command->add_option("--html", options->html, "Write a page to look at")->type_name("FILE");
    command->add_option("--export", options->format, "Print it in another library's words")
        ->type_name("hugging-face|lightgbm|xgboost|scikit-learn");
  }
  add_json(*command, options->json);
  add_quiet(*command, options->input.quiet);
  command->callback([options, run] { run(*options); });
}

}  // namespace

void add_tokenizer(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenizer", "Turn tables into tokens and back");
  command->require_subcommand(1);
  add_fit(*command);
  add_use(*command, "encode", "Write a table's tokens", run_encode);
  add_use(*command, "decode", "Write the table that tokens stand for", run_decode);
  add_use(*command, "inspect", "Show a tokenizer, and how data differs from what it was fitted on",
          run_inspect);
}

}  // namespace causeway::cli
