// Command-line options generated from a configuration description: one per field, --config for a
// settings file, and --print-config.
#pragma once

#include "causeway/core/config.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace causeway::cli {

class ConfigOptions {
 public:
  // The description must outlive the command. --help shows `defaults`, or else the description's.
  void add_to(CLI::App& command, const ConfigFields& fields, const void* defaults = nullptr);

  // The settings of the file, overridden by the command line, as JSON for ConfigFields::read.
  // Throws if the file cannot be read.
  Json given() const;
  // Whether --print-config was given: the command then only prints its configuration.
  bool prints() const { return prints_; }

 private:
  void add_field(CLI::App& command, const ConfigField& field, const void* defaults);
  void take(const ConfigField& field, const Json& value);

  const ConfigFields* fields_ = nullptr;
  std::string file_;
  bool prints_ = false;
  std::shared_ptr<Json> values_;  // from the command line, by "section.name"
};

// The options that differ from the defaults: "--rows 24 --classes 2".
std::string option_text(const ConfigFields& fields, const void* config);

}  // namespace causeway::cli
