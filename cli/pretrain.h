// `causeway pretrain`: trains a tabular transformer on datasets that a prior generates
// concurrently.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_pretrain(CLI::App& app);

}  // namespace causeway::cli
