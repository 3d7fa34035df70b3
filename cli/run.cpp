#include "cli/run.h"

#include "cli/options.h"
#include "cli/print.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace causeway::cli {

namespace {

enum ExitCode {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kBadInput = 3,
  kNoDevice = 4,
  kInternal = 5,
  kInterrupted = 130,
};

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
    case ErrorKind::shape_mismatch:
    case ErrorKind::io:
    case ErrorKind::format: return kBadInput;
    case ErrorKind::device: return kNoDevice;
    case ErrorKind::out_of_memory:
    case ErrorKind::compile:
    case ErrorKind::distributed: return kFailed;
    case ErrorKind::interrupted: return kInterrupted;
    case ErrorKind::internal: break;
  }
  return kInternal;
}

int report(const std::string& name, const Error& error) {
  const ExitCode code = exit_code(error.kind());
  if (code == kInternal) {
    note("{}: internal error at {}:{}: {}\n", name, error.where().file_name(), error.where().line(),
         error.what());
  } else {
    note("{}: {}\n", name, error.what());
  }
  return code;
}

// The usage error in one line.
std::string describe(const CLI::App& command, const CLI::ParseError& error) {
  const bool has_subcommands = command.get_require_subcommand_min() > 0;
  const auto unknown = command.remaining();
  if (has_subcommands && (unknown.empty() || !unknown.front().starts_with('-'))) {
    std::string names;
    for (const CLI::App* subcommand :
         command.get_subcommands([](const CLI::App*) { return true; })) {
      names += (names.empty() ? "" : ", ") + subcommand->get_name();
    }
    return unknown.empty() ? fmt::format("expected a subcommand: {}", names)
                           : fmt::format("unknown subcommand \"{}\"; expected one of: {}",
                                         unknown.front(), names);
  }
  if (!unknown.empty()) return fmt::format("unexpected argument \"{}\"", unknown.front());
  return error.what();
}

int report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const CLI::App* command = &app;
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    path += " " + command->get_name();
  }
  note("{}: {}\nrun {} --help\n", path, describe(*command, error), path);
  return kUsage;
}

// Switches as "--muon,--no-muon", without CLI11's "{false}".
struct HelpFormatter : CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return CLI::detail::find_and_replace(CLI::Formatter::make_option_name(option, is_positional),
                                         "{false}", "");
  }
};

// A signal that ends the program removes the temporary files of its output.
void remove_files_on_signals() {
  std::signal(SIGINT, [](int) {
    remove_partial_files();
    _exit(kInterrupted);
  });
  for (const int number : {SIGTERM, SIGHUP}) {
    const auto before = std::signal(number, [](int received) {
      remove_partial_files();
      std::signal(received, SIG_DFL);
      std::raise(received);
    });
    if (before == SIG_IGN) std::signal(number, SIG_IGN);  // by nohup
  }
}

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  return kDone;
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

int run_program(CLI::App& app, int argc, char** argv) {
  open_standard_streams();
  remove_files_on_signals();
  const std::string name = app.get_name();
  int code = kInternal;
  try {
    code = parse(app, argc, argv);
  } catch (const Interrupted&) {
    code = kInterrupted;
  } catch (const Error& error) {
    code = report(name, error);
  } catch (const std::bad_alloc&) {
    note("{}: out of host memory\n", name);
    code = kFailed;
  } catch (const std::system_error& error) {  // thrown by fmt when writing fails
    note("{}: {}\n", name, error.what());
    code = kFailed;
  } catch (const std::exception& error) {
    note("{}: internal error: {}\n", name, error.what());
  }
  if (std::fflush(stdout) != 0 && code == kDone) {
    std::perror((name + ": writing the output").c_str());
    code = kFailed;
  }
  return code;
}

}  // namespace causeway::cli
