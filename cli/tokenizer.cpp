#include "cli/tokenizer.h"

#include "cli/options.h"
#include "cli/tokenizer_fit.h"
#include "cli/tokenizer_input.h"
#include "cli/tokenizer_report.h"

#include "causeway/core/error.h"
#include "causeway/data/npy.h"
#include "causeway/tokenizer/artefact/export.h"
#include "causeway/tokenizer/tokenizer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace causeway::cli {

namespace {

using namespace causeway::tokenizer;

struct UseOptions {
  InputOptions input;
  std::string tokenizer, out, dtype, how = "centre", html, format;
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
};

// Throws where a file lacks a column that the tokenizer knows; of what is not asked for, it may
// have more.
void require_columns(const InputOptions& given, const std::vector<std::string>& names) {
  if (!is_csv(given.path)) return;
  CsvOptions plain;
  plain.header = !given.no_header;
  plain.delimiter = delimiter_of(given);
  const CsvReader reader(std::filesystem::path(given.path), plain);
  const auto& all = reader.names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(all.begin(), all.end(), names[i]) != all.end()) continue;
    fail(ErrorKind::invalid_argument, "tokenizer",
         fmt::format("column {} \"{}\" is not in the table, which has \"{}\"; add it, or fit "
                     "without it",
                     i, names[i], fmt::join(all, "\", \"")));
  }
}

void run_encode(const UseOptions& given) {
  const Tokenizer tok = Tokenizer::load(given.tokenizer);
  InputOptions input = given.input;
  const std::vector<std::string> names = declare_columns(tok.columns(), input);
  require_columns(given.input, names);
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
  const Decoding how = parse_decoding(given.how);
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
    const std::vector<std::string> names = declare_columns(tok.columns(), input);
    require_columns(given.input, names);
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
  add_merge(*command);
  add_use(*command, "encode", "Write a table's tokens", run_encode);
  add_use(*command, "decode", "Write the table that tokens stand for", run_decode);
  add_use(*command, "inspect", "Show a tokenizer, and how data differs from what it was fitted on",
          run_inspect);
}

}  // namespace causeway::cli
