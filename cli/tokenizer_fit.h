// What `tokenizer fit` is told, for fits of whole tables and of parts.
#pragma once

#include "cli/tokenizer_input.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/options.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace causeway::cli {

struct FitOptions {
  InputOptions input;
  tokenizer::Options fit;
  std::string out, partial, against;
  std::string strategy = "quantile", quantile = "linear", closed = "left", duplicates = "drop";
  std::string missing_token = "auto";
  std::vector<std::string> fields, column_bins;
  std::string target, weights;
  std::string memory = "4GiB";
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
};

// A word of the command line; the error names its option.
template <class Parse>
auto word(const char* option, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    const std::string message = error.message();
    throw CLI::ValidationError(option, message.substr(message.find("] ") + 2));
  }
}

// The options of the fit. Throws usage errors.
tokenizer::Options options_of(const FitOptions& given);

void add_fit(CLI::App& parent);
// `fit --partial`: counts, or collects what a plan says, and writes the part.
void run_partial(const FitOptions& given);
void add_merge(CLI::App& parent);

}  // namespace causeway::cli
