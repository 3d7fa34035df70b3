// `causeway completion bash|zsh|fish`: prints a completion script generated from the commands.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_completion(CLI::App& app);

}  // namespace causeway::cli
