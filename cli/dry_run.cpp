#include "cli/dry_run.h"

#include "cli/progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::cli {

namespace {

nlohmann::ordered_json to_json(const DryRun& run) {
  return {{"configuration", nlohmann::ordered_json::parse(run.configuration)},
          {"memory", {{"needed", run.memory_needed}, {"budget", run.memory_budget}}},
          {"time",
           {{"steps", run.time.steps},
            {"step_flops", run.time.step_flops},
            {"flops_per_second", run.time.flops_per_second},
            {"seconds_at_least", run.time.seconds}}}};
}

}  // namespace

void print_dry_run(const DryRun& run, bool json) {
  if (json) {
    fmt::print("{}\n", to_json(run).dump());
    return;
  }
  const train::TimeEstimate& time = run.time;
  fmt::print("{}\nmemory: {}\n", run.configuration, run.memory_summary);
  if (time.steps == 0) {
    fmt::print("time: {}, the limit of the run", format_seconds(time.seconds));
  } else {
    fmt::print("time: at least {} for {} steps", format_seconds(time.seconds), time.steps);
  }
  fmt::print("; {:.3g} GFLOP per step, matrix products reach {:.3g} GFLOP/s here\n",
             time.step_flops / 1e9, time.flops_per_second / 1e9);
}

}  // namespace causeway::cli
