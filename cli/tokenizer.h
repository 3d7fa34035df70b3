// causeway tokenizer: tables to tokens and back.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_tokenizer(CLI::App& app);

}  // namespace causeway::cli
