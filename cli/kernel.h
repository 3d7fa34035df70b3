// `causeway kernel`: kernels of the language, compiled, run and explained.
#pragma once

#include "causeway/lang/compile.h"

#include <CLI/CLI.hpp>

#include <string>

namespace causeway::cli {

void add_kernel(CLI::App& app);

// The parts of it.
void add_kernel_compile(CLI::App& kernel);
void add_kernel_run(CLI::App& kernel);
void add_kernel_explain(CLI::App& kernel);

// Reads and compiles a file; a text that is refused is bad input.
lang::Module compile_file(const std::string& path);

// Reads "sm_90", "90" or "9.0" as a compute capability times ten.
int parse_architecture(const std::string& text);

// Writes to the file, or to stdout if it is empty.
void write_output(const std::string& path, const std::string& text);

}  // namespace causeway::cli
