// The flags every subcommand of `causeway prior` takes: which prior, and where it runs.
#pragma once

#include "causeway/prior/prior.h"

#include <CLI/CLI.hpp>

#include <string>

namespace causeway::cli {

struct PriorOptions {
  prior::PriorConfig config;
  Device device = Device::cpu();
  bool device_given = false;
  int threads = 0;
  bool json = false;
  bool quiet = false;

  void add_to(CLI::App& command);
  // Checks, sets the number of threads and makes the prior; auto is the device at first.
  prior::Prior make() const;
};

// The flags that make `config` again, those at their first value left out.
std::string flags_of(const prior::PriorConfig& config);

}  // namespace causeway::cli
