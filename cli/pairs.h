// `causeway pairs generate|verify|stats|export`: a verified dataset of Python and CUDA kernels.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_pairs(CLI::App& app);
// Their parts.
void add_pairs_generate(CLI::App& pairs);
void add_pairs_verify(CLI::App& pairs);
void add_pairs_stats(CLI::App& pairs);
void add_pairs_export(CLI::App& pairs);

}  // namespace causeway::cli
