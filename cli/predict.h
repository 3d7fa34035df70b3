// `causeway predict` and `causeway evaluate`: a pretrained model told a table's rows.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);

}  // namespace causeway::cli
