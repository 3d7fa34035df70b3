// `causeway tokenizer fit|merge|encode|decode|inspect`: turns tables into tokens and back.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_tokenizer(CLI::App& app);

}  // namespace causeway::cli
