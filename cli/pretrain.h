// `causeway pretrain`: a tabular transformer, from datasets that a prior makes meanwhile.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_pretrain(CLI::App& app);

}  // namespace causeway::cli
