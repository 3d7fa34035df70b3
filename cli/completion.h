// `causeway completion bash|zsh|fish`: a completion script, written from the commands themselves.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_completion(CLI::App& app);

}  // namespace causeway::cli
