// The options every subcommand of `causeway prior` takes: which prior, and where it runs.
#pragma once

#include "cli/config_options.h"

#include "causeway/prior/prior.h"

#include <CLI/CLI.hpp>

#include <string>

namespace causeway::cli {

struct PriorOptions {
  ConfigOptions settings;
  Device device = Device::cpu();
  bool device_given = false;
  int threads = 0;
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  // The configuration from --config and the options; checked.
  prior::PriorConfig config() const;
  // Sets the number of threads and makes the prior.
  prior::Prior make() const;
  // With --print-config, prints the configuration; the command then ends.
  bool printed() const;
};

}  // namespace causeway::cli
