// Options shared by the subcommands.
#pragma once

#include "causeway/core/count.h"
#include "causeway/core/error.h"
#include "causeway/runtime/device.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace causeway::cli {

// Parses the device immediately: an unknown name is a usage error, an absent device throws.
inline CLI::Option* add_device(CLI::App& command, Device& device, const std::string& description) {
  const auto read = [&device](const std::string& text) {
    try {
      device = parse_device(text);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_argument) throw;
      throw CLI::ValidationError("--device", "\"" + text + "\" is not auto, cpu, cuda or cuda:<i>");
    }
  };
  return command.add_option_function<std::string>("--device", read, description + " [auto]")
      ->type_name("auto|cpu|cuda[:i]")
      ->group("Device");
}

inline CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "Print the results as JSON")->group("Output");
}

inline CLI::Option* add_quiet(CLI::App& command, bool& quiet) {
  return command.add_flag("--quiet", quiet, "Show no progress, only results and errors")
      ->group("Output");
}

// Thrown by a command that was interrupted after it saved its state; the exit code is 130.
struct Interrupted {};

// Rewrites 10k, 1m and 4GiB as plain numbers (core/count.h), before other checks.
inline CLI::Validator counted() {
  return CLI::Validator(
      [](std::string& text) {
        if (const auto count = parse_count(text)) text = std::to_string(*count);
        return std::string();
      },
      "");
}

// An option that takes an integer, such as 10k; help shows the present `value` as the default.
template <class Integer>
CLI::Option* add_count(CLI::App& command, const std::string& names, Integer& value,
                       const std::string& help) {
  return command.add_option(names, value, fmt::format("{} [{}]", help, value))
      ->type_name("N")
      ->transform(counted());
}

inline CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed) {
  return add_count(command, "--seed", seed, "Random seed");
}

inline CLI::Validator at_least_one() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const bool is_one = CLI::detail::lexical_cast(text, value) && value >= 1;
        return is_one ? std::string() : "expected an integer of 1 or more, got \"" + text + "\"";
      },
      "");
}

inline CLI::Validator above_zero() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const bool is_above = CLI::detail::lexical_cast(text, value) && value > 0 && value < 1e300;
        return is_above ? std::string() : "expected a number above 0, got \"" + text + "\"";
      },
      "");
}

inline CLI::Validator at_least_zero() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const bool is_one = CLI::detail::lexical_cast(text, value) && value >= 0;
        return is_one ? std::string() : "expected an integer of 0 or more, got \"" + text + "\"";
      },
      "");
}

inline CLI::Option* add_threads(CLI::App& command, int& threads) {
  return command.add_option("--threads", threads, "CPU threads [all cores]")
      ->type_name("N")
      ->group("Device")
      ->transform(counted())
      ->check(at_least_one());
}

}  // namespace causeway::cli
