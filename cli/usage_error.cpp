#include "cli/usage_error.h"

#include "cli/help.h"

#include "causeway/core/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace causeway::cli {

namespace {

std::vector<std::string> subcommand_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : subcommands_of(command)) names.push_back(each->get_name());
  return names;
}

// "--jsn=1" is compared as "jsn" with the long names of all options.
std::string unknown_argument(const CLI::App& command, std::string_view text) {
  std::string nearest;
  if (text.starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
      names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
    }
    const std::string_view name = text.substr(0, text.find('='));
    nearest = nearest_name(name.substr(std::min(name.find_first_not_of('-'), name.size())), names);
  }
  return fmt::format("unexpected argument \"{}\"{}", text,
                     nearest.empty() ? "" : "; did you mean --" + nearest + "?");
}

}  // namespace

std::string unknown_subcommand(const CLI::App& command, std::string_view name) {
  const std::vector<std::string> names = subcommand_names(command);
  const std::string nearest = nearest_name(name, names);
  const std::string advice = nearest.empty()
                                 ? fmt::format("expected one of: {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean {}?", nearest);
  return fmt::format("unknown subcommand \"{}\"; {}", name, advice);
}

std::string describe_usage_error(const CLI::App& command, const CLI::ParseError& error) {
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    const std::vector<std::string> unknown = at->remaining();
    if (unknown.empty()) continue;
    const bool needs_subcommand =
        at->get_require_subcommand_min() > 0 && at->get_subcommands().empty();
    return needs_subcommand && !unknown.front().starts_with('-')
               ? unknown_subcommand(*at, unknown.front())
               : unknown_argument(*at, unknown.front());
  }
  if (command.get_require_subcommand_min() > 0) {
    return fmt::format("expected a subcommand: {}", fmt::join(subcommand_names(command), ", "));
  }
  return error.what();
}

}  // namespace causeway::cli
