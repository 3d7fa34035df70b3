// Runs the program: exceptions become a line on stderr and an exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

// Parses the command line and runs the subcommand. Exit codes: 0 done, 1 failed, 2 usage, 3 bad
// input, 4 no such device, 5 internal, 130 interrupted.
int run_program(CLI::App& app, int argc, char** argv);

}  // namespace causeway::cli
