// `causeway pairs generate|verify|stats|gallery|export`: a verified dataset of Python and CUDA
// kernels.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace causeway::cli {

void add_pairs(CLI::App& app);
// Adds the argument of commands that read records: a dataset's folder or a file.
CLI::Option* add_records(CLI::App& command, std::string& path);
// Their parts.
void add_pairs_generate(CLI::App& pairs);
void add_pairs_verify(CLI::App& pairs);
void add_pairs_stats(CLI::App& pairs);
void add_pairs_gallery(CLI::App& pairs);
void add_pairs_export(CLI::App& pairs);

}  // namespace causeway::cli
