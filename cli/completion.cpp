#include "cli/completion.h"

#include "cli/help.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct Word {
  std::string text;
  std::string description;
};

// An option that takes a value; `choices` is empty if any value is allowed.
struct Value {
  std::string option;
  std::vector<std::string> choices;
};

// The words that can follow a command: subcommands, options and the choices of a positional.
struct Command {
  std::string path;
  std::vector<Word> words;
  std::vector<Value> values;
};

// Type names list the choices: "auto|cpu|cuda[:i]" becomes auto, cpu, cuda; "none|power,..." none,
// power.
std::vector<std::string> choices(const CLI::Option& option) {
  std::vector<std::string> all;
  if (option.get_type_name().find('|') == std::string::npos) return all;
  for (const auto& choice : CLI::detail::split(option.get_type_name(), '|')) {
    all.push_back(choice.substr(0, choice.find_first_of("[,")));
  }
  return all;
}

// The command and its subcommands, recursively.
void collect(const CLI::App& app, const std::string& path, std::vector<Command>& all) {
  Command command{path, {}, {}};
  const auto subcommands = subcommands_of(app);
  for (const CLI::App* subcommand : subcommands) {
    command.words.push_back({subcommand->get_name(), subcommand->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      for (const auto& choice : choices(*option)) command.words.push_back({choice, ""});
    }
    for (const auto& name : option->get_lnames()) {
      command.words.push_back({"--" + name, option->get_description()});
      if (option->get_items_expected() > 0) {
        command.values.push_back({"--" + name, choices(*option)});
      }
    }
  }
  all.push_back(std::move(command));
  for (const CLI::App* subcommand : subcommands) {
    collect(*subcommand, path + " " + subcommand->get_name(), all);
  }
}

// Text in single quotes; `apostrophe` replaces those inside it.
std::string quoted(const std::string& text, const char* apostrophe) {
  return "'" + CLI::detail::find_and_replace(text, "'", apostrophe) + "'";
}

std::string shell_quoted(const std::string& text) { return quoted(text, R"('\'')"); }
std::string fish_quoted(const std::string& text) { return quoted(text, R"(\')"); }

std::string paths_below(const std::vector<Command>& commands, const char* separator) {
  std::string all;
  for (std::size_t i = 1; i < commands.size(); ++i) {
    all += (i > 1 ? separator : "") + shell_quoted(commands[i].path);
  }
  return all;
}

constexpr const char* kBash = R"(# bash completion for causeway: source this file.
_causeway() {{
  local at=causeway word words=
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  COMPREPLY=()
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$at $word" in {}) at="$at $word" ;; esac
  done
  case "$at $before" in
{}  *)
    case "$at" in
{}    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _causeway causeway
)";

std::string bash(const std::vector<Command>& commands) {
  std::string values;
  std::string words;
  for (const Command& command : commands) {
    for (const Value& value : command.values) {
      values += fmt::format("  {}) words={} ;;\n", shell_quoted(command.path + " " + value.option),
                            shell_quoted(CLI::detail::join(value.choices, " ")));
    }
    const auto text = [](const Word& word) { return word.text; };
    words += fmt::format("      {}) words={} ;;\n", shell_quoted(command.path),
                         shell_quoted(CLI::detail::join(command.words, text, " ")));
  }
  return fmt::format(kBash, paths_below(commands, "|"), values, words);
}

constexpr const char* kZsh = R"(#compdef causeway
# zsh completion for causeway: save as _causeway in a folder of $fpath, or source this file.
_causeway() {{
  local at=causeway word
  local -a found
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$at $word" in {}) at="$at $word" ;; esac
  done
  case "$at ${{words[CURRENT-1]}}" in
{}  esac
  case "$at" in
{}  esac
  _describe "$at" found
}}
if [[ $funcstack[1] == _causeway ]]; then _causeway "$@"; else compdef _causeway causeway; fi
)";

std::string zsh(const std::vector<Command>& commands) {
  std::string values;
  std::string words;
  for (const Command& command : commands) {
    for (const Value& value : command.values) {
      values += fmt::format(
          "  {}) {}; return ;;\n", shell_quoted(command.path + " " + value.option),
          value.choices.empty() ? "_files" : "compadd -- " + CLI::detail::join(value.choices, " "));
    }
    std::string found;
    for (const Word& word : command.words) {
      found += " " + shell_quoted(word.description.empty() ? word.text
                                                           : word.text + ":" + word.description);
    }
    words += fmt::format("  {}) found=({} ) ;;\n", shell_quoted(command.path), found);
  }
  return fmt::format(kZsh, paths_below(commands, "|"), values, words);
}

constexpr const char* kFish =
    R"(# fish completion for causeway: save as causeway.fish in a completions folder.
function __causeway_at
    set -l at causeway
    for word in (commandline -opc)[2..]
        switch "$at $word"
            case {}
                set at "$at $word"
        end
    end
    test "$at" = "$argv"
end
complete -c causeway -f
)";

std::string fish(const std::vector<Command>& commands) {
  std::string text = fmt::format(kFish, paths_below(commands, " "));
  for (const Command& command : commands) {
    for (const Word& word : command.words) {
      std::string line = fmt::format("complete -c causeway -n '__causeway_at {}'", command.path);
      line += word.text.starts_with("--") ? " -l " + word.text.substr(2) : " -a " + word.text;
      for (const Value& value : command.values) {
        if (value.option != word.text) continue;
        line += value.choices.empty()
                    ? " -r -F"
                    : " -x -a " + fish_quoted(CLI::detail::join(value.choices, " "));
      }
      if (!word.description.empty()) line += " -d " + fish_quoted(word.description);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "Shell")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  completion->footer("In the current bash session:  source <(causeway completion bash)");
  completion->callback([shell, &app] {
    std::vector<Command> commands;
    collect(app, app.get_name(), commands);
    const auto write = *shell == "bash" ? bash : *shell == "zsh" ? zsh : fish;
    fmt::print("{}", write(commands));
  });
}

}  // namespace causeway::cli
