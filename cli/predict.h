// `causeway predict` and `causeway evaluate`: predictions of a pretrained model for CSV files.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);

}  // namespace causeway::cli
