// Options shared by the subcommands of `causeway prior`: the prior and the device.
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
  // The checked configuration from --config and the options.
  prior::PriorConfig config() const;
  // Sets the number of threads and creates the prior.
  prior::Prior make() const;
  // Prints the configuration if --print-config is given; the command then ends.
  bool printed() const;
};

}  // namespace causeway::cli
