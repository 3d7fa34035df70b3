// Help texts: --help of every command, `causeway help`, and the words that help and manual pages
// share.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

// The formatter of --help texts. Set it before subcommands are added, which inherit it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// `causeway help [SUBCOMMAND...]`: the same text as --help of that subcommand.
void add_help(CLI::App& app);

// All options "-o,--out", switches as "--muon,--no-muon"; the name of a positional.
std::string option_name(const CLI::Option& option);
// The format of its value, such as "N" or "FILE ..."; empty for a switch.
std::string option_value(const CLI::Option& option);
// Its description. It ends with the default in brackets if the option takes a value and is not
// required: "[none]" if there is no other.
std::string option_help(const CLI::Option& option);

// All subcommands of `command`, in the order they were added.
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);

// The subcommand with that path, such as {"prior", "generate"}; throws a usage error with the
// nearest name.
const CLI::App& find_command(const CLI::App& app, const std::vector<std::string>& path);

}  // namespace causeway::cli
