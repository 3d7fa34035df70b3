// causeway-bench: runs the benchmarks, one suite at a time.
#include "bench/harness.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/run.h"
#include "cli/text_table.h"

#include "causeway/core/version.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace causeway::cli {

namespace {

struct BenchOptions {
  void (*suite)(Device, const bench::Report&) = nullptr;
  Device device = Device::cpu();
  bool device_given = false;
  bool json = false;
  bool quiet = false;
  int threads = 0;
};

std::string time_text(double ms) {
  if (ms < 1e-3) return fmt::format("{:.0f} ns", ms * 1e6);
  if (ms < 1) return fmt::format("{:.1f} us", ms * 1e3);
  return fmt::format("{:.3f} ms", ms);
}

// 4.13e12 to "4.13 TB/s": three digits and the unit that fits.
std::string rate_text(double rate, const char* unit) {
  const char* prefix = rate >= 1e12 ? "T" : rate >= 1e9 ? "G" : "M";
  const double scaled = rate / (rate >= 1e12 ? 1e12 : rate >= 1e9 ? 1e9 : 1e6);
  const int digits = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", scaled, digits, prefix, unit);
}

void print_table(Device device, const std::vector<bench::Result>& results) {
  using Align = TextTable::Align;
  const bool has_memory = std::any_of(results.begin(), results.end(),
                                      [](const auto& result) { return result.peak_gib > 0; });
  std::vector<TextTable::Column> columns = {
      {fmt::format("on {} ({})", to_string(device), describe(device).name)},
      {"median", Align::right},
      {"bandwidth", Align::right},
      {"of peak", Align::right},
      {"compute", Align::right}};
  if (has_memory) columns.push_back({"peak memory", Align::right});
  TextTable table(columns);
  for (const bench::Result& result : results) {
    const auto cell = [](bool known, std::string text) { return known ? std::move(text) : ""; };
    std::vector<std::string> row = {
        result.name, time_text(result.ms),
        cell(result.bandwidth > 0, rate_text(result.bandwidth, "B/s")),
        cell(result.share_of_peak > 0, fmt::format("{:.0f}%", result.share_of_peak * 100)),
        cell(result.flops > 0, rate_text(result.flops, "FLOP/s"))};
    if (has_memory)
      row.push_back(cell(result.peak_gib > 0, fmt::format("{:.2f} GiB", result.peak_gib)));
    table.add_row(row);
  }
  fmt::print("{}", table.to_string());
}

void print_json(Device device, const std::vector<bench::Result>& results) {
  nlohmann::ordered_json out;
  out["device"] = to_string(device);
  out["name"] = describe(device).name;
  out["threads"] = thread_count();
  out["cases"] = nlohmann::ordered_json::array();
  for (const bench::Result& result : results) {
    out["cases"].push_back({{"name", result.name},
                            {"ms", result.ms},
                            {"ms_best", result.ms_best},
                            {"bytes_per_second", result.bandwidth},
                            {"flops_per_second", result.flops},
                            {"share_of_peak", result.share_of_peak}});
    if (result.peak_gib > 0) out["cases"].back()["peak_gib"] = result.peak_gib;
  }
  fmt::print("{}\n", out.dump(2));
}

void run(const BenchOptions& options) {
  bench::require_optimised();
  const Device device = options.device_given ? options.device : parse_device("auto");
  if (options.threads > 0) set_thread_count(options.threads);
  const bool shows = !options.quiet && isatty(STDERR_FILENO) != 0;
  std::vector<bench::Result> results;
  options.suite(device, [&](const bench::Result& result) {
    if (shows) fmt::print(stderr, "\r\033[K{}: {}", result.name, time_text(result.ms));
    results.push_back(result);
  });
  if (shows) fmt::print(stderr, "\r\033[K");
  options.json ? print_json(device, results) : print_table(device, results);
}

struct Suite {
  const char* name;
  const char* about;
  void (*run)(Device, const bench::Report&);
};

constexpr Suite kSuites[] = {
    {"ops", "Tensor operations, matrix products and allocation", bench::run_ops},
    {"learning", "Norms, losses, attention, layers and optimizers", bench::run_learning},
    {"tokenizer", "Fit and encode of the quantile tokenizer", bench::run_tokenizer},
    {"prior", "Generation of synthetic datasets, by prior family", bench::run_prior},
    {"kernels", "Compiling and launching kernels of the language", bench::run_jit},
    {"gpt", "Training and text generation of GPT-2", bench::run_gpt},
    {"gpt-decode", "Parts of a step of text generation on a GPU, and its settings",
     bench::run_gpt_decode},
    {"checkpoint", "Loading and saving a GPT-2", bench::run_checkpoint},
    {"pretrain", "Pre-training steps, including the generation of datasets, and prediction",
     bench::run_pretrain},
};

void add_suite(CLI::App& app, const Suite& suite) {
  CLI::App* command = app.add_subcommand(suite.name, suite.about);
  const auto options = std::make_shared<BenchOptions>();
  options->suite = suite.run;
  add_device(*command, options->device, "Device to measure")->each([options](const std::string&) {
    options->device_given = true;
  });
  add_json(*command, options->json);
  add_quiet(*command, options->quiet);
  command->add_option("--threads", options->threads, "CPU threads [all cores]")
      ->type_name("N")
      ->check(at_least_one());
  command->callback([options] { run(*options); });
}

}  // namespace

}  // namespace causeway::cli

int main(int argc, char** argv) {
  CLI::App app("Runs the benchmarks, one suite at a time.", "causeway-bench");
  app.set_version_flag("--version", std::string("causeway-bench ") + causeway::kVersion,
                       "Print the version and exit");
  app.set_help_flag("--help,-h", "Print this help and exit");
  app.formatter(causeway::cli::help_formatter());
  app.require_subcommand(1);
  for (const auto& suite : causeway::cli::kSuites) causeway::cli::add_suite(app, suite);
  return causeway::cli::run_program(app, argc, argv);
}
