// causeway bench: our figures, one suite at a time.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_bench(CLI::App& app);

}  // namespace causeway::cli
