#include "cli/run.h"

#include "cli/options.h"
#include "cli/print.h"
#include "cli/usage_error.h"

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
    print_error(name, fmt::format("internal error at {}:{}: {}", error.where().file_name(),
                                  error.where().line(), error.what()));
  } else {
    print_error(name, error.what());
  }
  return code;
}

int report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const CLI::App* command = &app;
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    path += " " + command->get_name();
  }
  print_error(path, describe_usage_error(*command, error));
  note("run {} --help\n", path);
  return kUsage;
}

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
    print_error(name, "out of host memory");
    code = kFailed;
  } catch (const std::system_error& error) {  // thrown by fmt when writing fails
    print_error(name, error.what());
    code = kFailed;
  } catch (const std::exception& error) {
    print_error(name, fmt::format("internal error: {}", error.what()));
  }
  if (std::fflush(stdout) != 0 && code == kDone) {
    std::perror((name + ": writing the output").c_str());
    code = kFailed;
  }
  return code;
}

}  // namespace causeway::cli
