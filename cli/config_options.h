// Options of a command made from the description of a configuration: one for each field, --config
// for a file of settings, and --print-config.
#pragma once

#include "causeway/core/config.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace causeway::cli {

class ConfigOptions {
 public:
  // The description must outlive the command. `defaults` is what --help shows, else the
  // description's own.
  void add_to(CLI::App& command, const ConfigFields& fields, const void* defaults = nullptr);

  // The settings of the file, then those of the command line: JSON for ConfigFields::read. Throws
  // where the file cannot be read.
  Json given() const;
  // Whether --print-config was given: the command prints its configuration and does nothing else.
  bool prints() const { return prints_; }

 private:
  void add_field(CLI::App& command, const ConfigField& field, const void* defaults);
  void take(const ConfigField& field, const Json& value);

  const ConfigFields* fields_ = nullptr;
  std::string file_;
  bool prints_ = false;
  std::shared_ptr<Json> values_;  // of the command line, by "section.name"
};

// The options that make this configuration from the defaults: "--rows 24 --classes 2".
std::string option_text(const ConfigFields& fields, const void* config);

}  // namespace causeway::cli
