// `causeway quantize`: model files with 8-bit matrices.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_quantize(CLI::App& app);

}  // namespace causeway::cli
