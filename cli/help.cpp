#include "cli/help.h"

#include "cli/usage_error.h"

#include "causeway/core/colour.h"

#include <fmt/format.h>

namespace causeway::cli {

namespace {

struct HelpFormatter : CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? option->get_name(true, false) : option_name(*option);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    // The dots of a type, such as "NAME,...", need no others.
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_opts(option), "... ...",
                                         "...");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return option_help(*option);
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    return CLI::Formatter::make_group(heading(group), is_positional, std::move(options));
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string text = CLI::Formatter::make_usage(app, std::move(name));
    const std::string label = "Usage";
    return text.starts_with(label) ? heading(label) + text.substr(label.size()) : text;
  }
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_subcommands(app, mode),
                                         "Subcommands:", heading("Subcommands") + ":");
  }

 private:
  static std::string heading(const std::string& text) { return styled(stdout, Style::bold, text); }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string option_name(const CLI::Option& option) {
  if (!option.nonpositional()) return option.get_name(true, false);
  return CLI::detail::find_and_replace(option.get_name(false, true), "{false}", "");
}

std::string option_value(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const bool repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  const std::string type = option.get_type_name();
  return type + (repeats && !type.ends_with("...") ? " ..." : "");
}

std::string option_help(const CLI::Option& option) {
  const std::string& text = option.get_description();
  const bool has_default =
      option.get_required() || option.get_items_expected_max() == 0 || text.ends_with(']');
  return has_default ? text : text + " [none]";
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App& find_command(const CLI::App& app, const std::vector<std::string>& path) {
  const CLI::App* command = &app;
  for (const std::string& name : path) {
    const CLI::App* found = nullptr;
    for (const CLI::App* each : subcommands_of(*command)) {
      if (each->get_name() == name) found = each;
    }
    if (found == nullptr) throw CLI::ValidationError(unknown_subcommand(*command, name));
    command = found;
  }
  return *command;
}

void add_help(CLI::App& app) {
  CLI::App* help = app.add_subcommand("help", "Print the help of a subcommand");
  const auto path = std::make_shared<std::vector<std::string>>();
  help->add_option("subcommand", *path, "Such as: prior generate [all subcommands]")
      ->type_name("NAME");
  help->callback([path, &app] {
    std::string name = app.get_name();
    for (const std::string& word : *path) name += " " + word;
    const CLI::App& command = find_command(app, *path);
    fmt::print("{}", app.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal));
  });
}

}  // namespace causeway::cli
