// What is wrong with a command line, in words.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

namespace causeway::cli {

// The error of `command`, the subcommand that was being parsed, in one line: unknown subcommands
// and options with the nearest name.
std::string describe_usage_error(const CLI::App& command, const CLI::ParseError& error);

// "unknown subcommand "inof"; did you mean info?", or the list of all if none is close.
std::string unknown_subcommand(const CLI::App& command, std::string_view name);

}  // namespace causeway::cli
