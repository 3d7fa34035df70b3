// The program: collects the subcommands, runs the one that was asked for, and turns what it throws
// into a line on stderr and an exit code.
#include "cli/bench.h"
#include "cli/completion.h"
#include "cli/info.h"
#include "cli/options.h"
#include "cli/predict.h"
#include "cli/pretrain.h"
#include "cli/prior.h"
#include "cli/tokenizer.h"

#include "causeway/core/error.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace {

using causeway::ErrorKind;

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

int report(const causeway::Error& error) {
  const ExitCode code = exit_code(error.kind());
  if (code == kInternal) {
    fmt::print(stderr, "causeway: internal error at {}:{}: {}\n", error.where().file_name(),
               error.where().line(), error.what());
  } else {
    fmt::print(stderr, "causeway: {}\n", error.what());
  }
  return code;
}

// What is wrong with the command line, in one line.
std::string describe(const CLI::App& command, const CLI::ParseError& error) {
  const bool has_subcommands = command.get_require_subcommand_min() > 0;
  const auto unknown = command.remaining();
  if (has_subcommands && (unknown.empty() || !unknown.front().starts_with('-'))) {
    std::string names;
    for (const CLI::App* subcommand :
         command.get_subcommands([](const CLI::App*) { return true; })) {
      names += (names.empty() ? "" : ", ") + subcommand->get_name();
    }
    return unknown.empty()
               ? fmt::format("expected a subcommand: {}", names)
               : fmt::format("\"{}\" is not a subcommand; there are: {}", unknown.front(), names);
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
  fmt::print(stderr, "{}: {}\nrun {} --help\n", path, describe(*command, error), path);
  return kUsage;
}

int run(int argc, char** argv) {
  CLI::App app("Makes training data for foundation models on the GPU, and trains on it there.",
               "causeway");
  app.set_version_flag("--version", causeway::cli::version_line, "Print the version and exit");
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.require_subcommand(1);
  causeway::cli::add_info(app);
  causeway::cli::add_prior(app);
  causeway::cli::add_tokenizer(app);
  causeway::cli::add_pretrain(app);
  causeway::cli::add_predict(app);
  causeway::cli::add_evaluate(app);
  causeway::cli::add_bench(app);
  causeway::cli::add_completion(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, [](int) { _exit(kInterrupted); });
  int code = kInternal;
  try {
    code = run(argc, argv);
  } catch (const causeway::cli::Interrupted&) {
    code = kInterrupted;
  } catch (const causeway::Error& error) {
    code = report(error);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "causeway: out of host memory\n");
    code = kFailed;
  } catch (const std::system_error& error) {  // what fmt throws where it cannot write
    fmt::print(stderr, "causeway: {}\n", error.what());
    code = kFailed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "causeway: internal error: {}\n", error.what());
  }
  if (std::fflush(stdout) != 0 && code == kDone) {
    std::perror("causeway: writing the output");
    code = kFailed;
  }
  return code;
}
