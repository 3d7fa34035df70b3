// `causeway report`: the HTML page of a training run.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_report(CLI::App& app);

}  // namespace causeway::cli
