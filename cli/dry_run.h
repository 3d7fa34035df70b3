// --dry-run: what a training run would do, without starting it.
#pragma once

#include "causeway/train/estimate.h"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>

namespace causeway::cli {

inline CLI::Option* add_dry_run(CLI::App& command, bool& dry_run) {
  return command
      .add_flag("--dry-run", dry_run,
                "Print the resolved configuration, the memory needed and the least time "
                "it takes; start nothing")
      ->group("Configuration");
}

struct DryRun {
  std::string configuration;  // resolved, as JSON
  std::size_t memory_needed = 0;
  std::size_t memory_budget = 0;
  std::string memory_summary;
  train::TimeEstimate time;
};

void print_dry_run(const DryRun& run, bool json);

}  // namespace causeway::cli
