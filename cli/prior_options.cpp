#include "cli/prior_options.h"

#include "cli/options.h"

#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::cli {

void PriorOptions::add_to(CLI::App& command) {
  settings.add_to(command, prior::describe_prior());
  add_device(command, device, "Device that generates the datasets")
      ->each([this](const std::string&) { device_given = true; });
  add_threads(command, threads);
  add_json(command, json);
  add_quiet(command, quiet);
}

prior::PriorConfig PriorOptions::config() const {
  prior::PriorConfig config;
  prior::describe_prior().read(&config, settings.given());
  config.check();
  return config;
}

prior::Prior PriorOptions::make() const {
  if (threads > 0) set_thread_count(threads);
  return prior::Prior(config(), device_given ? device : parse_device("auto"));
}

bool PriorOptions::printed() const {
  if (!settings.prints()) return false;
  const prior::PriorConfig resolved = config();
  Json printed_json = prior::describe_prior().to_json(&resolved);
  printed_json["seed"] = resolved.seed;
  fmt::print("{}\n", printed_json.dump(2));
  return true;
}

}  // namespace causeway::cli
