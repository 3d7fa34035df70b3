// Options of `tokenizer fit`, for whole tables and partial fits.
#pragma once

#include "cli/config_options.h"
#include "cli/tokenizer_input.h"

#include "causeway/tokenizer/options.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace causeway::cli {

struct FitOptions {
  InputOptions input;
  ConfigOptions settings;
  std::string out, partial, against;
  std::vector<std::string> column_bins;
  std::string target, weights;
  std::string memory = "4GiB";
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
};

// The tokenizer's options. Throws usage errors.
tokenizer::Options options_of(const FitOptions& given);

void add_fit(CLI::App& parent);
// `fit --partial`: runs one pass over this machine's rows and writes the part.
void run_partial(const FitOptions& given);
void add_merge(CLI::App& parent);

}  // namespace causeway::cli
