// Manual pages in roff, from the descriptions that --help shows.
#include "cli/man.h"

#include "cli/help.h"

#include "causeway/core/file.h"
#include "causeway/core/version.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

using Path = std::vector<std::string>;  // such as {"causeway", "prior", "generate"}

// Text as roff: backslashes and dashes escaped, no line starts with a control character.
std::string roff(const std::string& text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_line_start = c == '\n';
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) {
  return text.empty() ? "" : "\\fI" + roff(text) + "\\fR";
}

std::string page_name(const Path& path) { return fmt::format("{}", fmt::join(path, "-")); }

std::string entry(const CLI::Option& option) {
  const std::string value = option_value(option);
  return fmt::format(".TP\n{}{}{}\n{}\n", bold(option_name(option)), value.empty() ? "" : " ",
                     italic(value), roff(option_help(option)));
}

std::string synopsis(const CLI::App& command, const Path& path) {
  std::string text =
      fmt::format(".SH SYNOPSIS\n{} [{}]", bold(fmt::format("{}", fmt::join(path, " "))),
                  italic("OPTION") + "...");
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional()) continue;
    const std::string name = italic(option_name(*option));
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (command.get_require_subcommand_min() > 0) text += " " + italic("SUBCOMMAND") + " ...";
  return text + "\n";
}

std::string options(const CLI::App& command) {
  std::string positionals;
  std::string groups;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) positionals += entry(*option);
  }
  for (const std::string& group : command.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : command.get_options()) {
      if (option->nonpositional() && option->get_group() == group) entries += entry(*option);
    }
    if (entries.empty()) continue;
    groups += (group == "Options" ? "" : fmt::format(".SS {}\n", roff(group))) + entries;
  }
  if (!positionals.empty()) positionals = ".SH ARGUMENTS\n" + positionals;
  return positionals + ".SH OPTIONS\n" + groups;
}

std::string subcommands(const CLI::App& command, const Path& path) {
  std::string text;
  for (const CLI::App* each : subcommands_of(command)) {
    text += fmt::format(".TP\n{}(1)\n{}\n", bold(page_name(path) + "-" + each->get_name()),
                        roff(each->get_description()));
  }
  return text.empty() ? "" : ".SH SUBCOMMANDS\n" + text;
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
0 done, 1 failed, 2 wrong usage, 3 bad input, 4 no such device, 5 internal error, 130 interrupted.
.SH ENVIRONMENT
.TP
\fBNO_COLOR\fR
If set and not empty, output is not coloured.
)";

std::string page(const CLI::App& command, const Path& path) {
  std::string title = roff(page_name(path));
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(".TH {} 1 \"\" \"causeway {}\" \"Causeway\"\n", title, kVersion);
  text +=
      fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(path)), roff(command.get_description()));
  text += synopsis(command, path);
  if (!command.get_footer().empty()) {
    text += fmt::format(".SH DESCRIPTION\n.nf\n{}\n.fi\n", roff(command.get_footer()));
  }
  text += options(command) + subcommands(command, path) + kEnd;
  if (path.size() > 1) {
    const Path parent(path.begin(), path.end() - 1);
    text += fmt::format(".SH SEE ALSO\n{}(1)\n", bold(page_name(parent)));
  }
  return text;
}

// Writes the page of a command and those of its subcommands.
void write_pages(const CLI::App& command, const Path& path, const std::filesystem::path& folder) {
  FileWriter file("man", folder / (page_name(path) + ".1"));
  file.write(page(command, path));
  file.commit();
  for (const CLI::App* each : subcommands_of(command)) {
    Path inner = path;
    inner.push_back(each->get_name());
    write_pages(*each, inner, folder);
  }
}

struct ManOptions {
  std::vector<std::string> path;
  std::string out;
};

void run(const CLI::App& app, const ManOptions& options) {
  const CLI::App& command = find_command(app, options.path);
  Path path{app.get_name()};
  path.insert(path.end(), options.path.begin(), options.path.end());
  if (options.out.empty()) {
    fmt::print("{}", page(command, path));
    return;
  }
  std::filesystem::create_directories(options.out);
  write_pages(command, path, options.out);
}

}  // namespace

void add_man(CLI::App& app) {
  CLI::App* man = app.add_subcommand("man", "Print the manual page of a subcommand");
  const auto options = std::make_shared<ManOptions>();
  man->add_option("subcommand", options->path, "Such as: prior generate [the program]")
      ->type_name("NAME");
  man->add_option("--out", options->out,
                  "Folder for this page and those of all subcommands below [stdout, one page]")
      ->type_name("FOLDER");
  man->footer("To read a page:  causeway man predict | man -l -");
  man->callback([options, &app] { run(app, *options); });
}

}  // namespace causeway::cli
