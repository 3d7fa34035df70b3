// `causeway info`: versions, libraries and devices.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace causeway::cli {

// "causeway 0.1.0 (cuda 13.0)" or "causeway 0.1.0 (cpu only)".
std::string version_line();

void add_info(CLI::App& app);

}  // namespace causeway::cli
