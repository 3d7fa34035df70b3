// `causeway pairs generate`: a folder of records.
#include "cli/config_options.h"
#include "cli/options.h"
#include "cli/pairs.h"
#include "cli/progress.h"

#include "causeway/pairs/dataset_json.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct GenerateOptions {
  ConfigOptions settings;
  std::string out;
  int threads = 0;
  bool json = false;
  bool quiet = false;
};

std::string reasons(const std::array<std::uint64_t, pairs::kRejections>& rejections) {
  std::string text;
  for (std::size_t i = 0; i < rejections.size(); ++i) {
    if (rejections[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        name_of(static_cast<pairs::Rejection>(i)), rejections[i]);
  }
  return text.empty() ? "none" : text;
}

void print_json(const pairs::DatasetConfig& config, const std::string& out,
                const pairs::DatasetResult& result, double seconds) {
  Json rejected = Json::object();
  for (std::size_t i = 1; i < result.rejections.size(); ++i)
    rejected[std::string(name_of(static_cast<pairs::Rejection>(i)))] = result.rejections[i];
  Json splits = Json::object();
  for (std::size_t i = 0; i < result.splits.size(); ++i)
    splits[std::string(name_of(static_cast<pairs::Split>(i)))] = result.splits[i];
  const Json json{{"out", out},
                  {"config", pairs::describe_dataset().to_json(&config)},
                  {"written", result.written},
                  {"kept", result.kept},
                  {"candidates", result.candidates},
                  {"rejected", rejected},
                  {"splits", splits},
                  {"seconds", seconds}};
  fmt::print("{}\n", json.dump(2));
}

void run(const GenerateOptions& options) {
  pairs::DatasetConfig config;
  pairs::describe_dataset().read(&config, options.settings.given());
  if (options.settings.prints()) {
    fmt::print("{}\n", pairs::describe_dataset().to_json(&config).dump(2));
    return;
  }
  if (options.out.empty()) throw CLI::ValidationError("--out", "is required");
  Progress progress("pairs", options.quiet);
  report_interrupt();
  const auto start = std::chrono::steady_clock::now();
  const pairs::DatasetResult result = pairs::write_dataset(
      config, options.out, options.threads > 0 ? options.threads : thread_count(),
      [&](const pairs::DatasetProgress& done) {
        progress.update(done.written, done.count, "rejected: " + reasons(done.rejections));
      });
  progress.clear();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) return print_json(config, options.out, result, seconds);
  const std::string kept =
      result.kept > 0 ? fmt::format(", {} of them already written", result.kept) : "";
  fmt::print("{}: {} pairs{}, {:.1f} s ({:.3g}/s)\n", options.out, result.written, kept, seconds,
             static_cast<double>(result.written - result.kept) / std::max(seconds, 1e-9));
  fmt::print("splits: train {}, validation {}, test {}\n", result.splits[0], result.splits[1],
             result.splits[2]);
  fmt::print("rejected: {}\n", reasons(result.rejections));
}

}  // namespace

void add_pairs_generate(CLI::App& pairs) {
  CLI::App* command = pairs.add_subcommand("generate", "Generate pairs and write them to a folder");
  const auto options = std::make_shared<GenerateOptions>();
  options->settings.add_to(*command, pairs::describe_dataset());
  command->add_option("-o,--out", options->out, "Output folder")->type_name("DIR");
  add_threads(*command, options->threads);
  add_json(*command, options->json);
  add_quiet(*command, options->quiet);
  command->footer(
      "The same configuration gives the same files for any number of threads. A run that was "
      "interrupted resumes when the command is run again.");
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
