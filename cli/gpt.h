// `causeway gpt`: language models on text.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_gpt(CLI::App& app);
// Its parts.
void add_gpt_tokenize(CLI::App& gpt);
void add_gpt_train(CLI::App& gpt);
void add_gpt_sample(CLI::App& gpt);
void add_gpt_import(CLI::App& gpt);
void add_gpt_export(CLI::App& gpt);

}  // namespace causeway::cli
