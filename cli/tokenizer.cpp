#include "cli/tokenizer.h"

#include "cli/options.h"
#include "cli/print.h"
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

// Throws if the CSV file lacks a column of the tokenizer; it may have more.
void require_columns_of_file(const InputOptions& given, const Tokenizer& tok,
                             const char* operation) {
  if (!is_csv(given.path)) return;
  CsvOptions plain;
  plain.header = !given.no_header;
  plain.delimiter = delimiter_of(given);
  const CsvReader reader(std::filesystem::path(given.path), plain);
  require_columns(tok, reader.names(), operation);
}

void run_encode(const UseOptions& given) {
  const Tokenizer tok = Tokenizer::load(given.tokenizer);
  InputOptions input = given.input;
  const std::vector<std::string> names = declare_columns(tok.columns(), input);
  require_columns_of_file(given.input, tok, "tokenizer.encode");
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
          fmt::format("encoding rows of \"{1}\" from row {0} on", n_rows, input.path),
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
    print_text(export_as(tok, given.format));
    return;
  }
  std::optional<Comparison> comparison;
  if (!given.input.path.empty()) {
    InputOptions input = given.input;
    const std::vector<std::string> names = declare_columns(tok.columns(), input);
    require_columns_of_file(given.input, tok, "tokenizer.inspect");
    comparison = compare(tok, read_table(input, Device::cpu(), names));
  }
  if (!given.html.empty()) write_page(given.html, tok, comparison);
  given.json ? print_inspection_json(tok, comparison) : print_inspection(tok, comparison);
}

void add_use(CLI::App& parent, const char* name, const char* about,
             void (*run)(const UseOptions&)) {
  CLI::App* command = parent.add_subcommand(name, about);
  const auto options = std::make_shared<UseOptions>();
  command->add_option("tokenizer", options->tokenizer, "Tokenizer file written by `fit`")
      ->type_name("FILE")
      ->required();
  const std::string what = name;
  if (what == "decode") {
    command->add_option("tokens", options->input.path, "Tokens, a .npy file written by `encode`")
        ->type_name("FILE")
        ->required();
    command->add_option("--as", options->how, "Value decoded from a bin [centre]")
        ->type_name("centre|median|range");
  } else {
    add_input(*command, options->input, what == "encode");
  }
  if (what != "inspect") {
    command
        ->add_option("--out", options->out,
                     what == "encode" ? "Output, a .npy file" : "Output, a .csv file")
        ->type_name("FILE")
        ->required();
  }
  if (what == "encode") {
    command->add_option("--dtype", options->dtype, "Dtype of the tokens [the smallest that fits]")
        ->type_name("u8|u16|i32");
    add_device(*command, options->device, "Device to encode on")
        ->each([options](const std::string&) { options->device_given = true; });
  }
  if (what == "inspect") {
    command->add_option("--html", options->html, "Also write an HTML page with histograms")
        ->type_name("FILE");
    command->add_option("--export", options->format, "Print it in the format of another library")
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
  add_use(*command, "encode", "Encode a table as tokens", run_encode);
  add_use(*command, "decode", "Decode tokens to a table", run_decode);
  add_use(*command, "inspect", "Show a tokenizer, and the drift of new data", run_inspect);
}

}  // namespace causeway::cli
