// `causeway man`: manual pages of the program and its subcommands.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_man(CLI::App& app);

}  // namespace causeway::cli
