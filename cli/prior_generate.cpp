// `causeway prior generate`: writes datasets to a file, prints their hash, or both.
#include "cli/options.h"
#include "cli/prior.h"
#include "cli/config_options.h"
#include "cli/progress.h"

#include "causeway/core/environment.h"
#include "causeway/prior/prior.h"
#include "causeway/runtime/threads.h"
#include "causeway/train/dump.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct GenerateSettings {
  prior::PriorConfig prior;
  train::DumpOptions dump;
};

const ConfigDescription<GenerateSettings>& describe_generate() {
  static const auto description = [] {
    ConfigDescription<GenerateSettings> d("prior.generate");
    d.section("", &GenerateSettings::dump, train::describe_dump());
    d.section("prior", &GenerateSettings::prior, prior::describe_prior());
    return d;
  }();
  return description;
}

struct GenerateOptions {
  ConfigOptions settings;
  train::DumpOptions dump;
  Device device = Device::cpu();
  bool device_given = false;
  int threads = 0;
  std::string out;
  bool hash = false;
  bool json = false;
  bool quiet = false;
};

struct Outcome {
  train::DumpResult dump;
  std::vector<std::uint64_t> hashes;  // of the datasets in order, with --hash
  std::int64_t n_bytes = 0;
  double seconds = 0.0;
};

std::int64_t bytes_at(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  }
  std::int64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    sum += static_cast<std::int64_t>(entry.file_size(error));
  }
  return sum;
}

Outcome generate(const GenerateOptions& options, const prior::Prior& prior) {
  Outcome outcome;
  Progress progress("datasets", options.quiet);
  const auto note = [&](std::int64_t done, std::int64_t total,
                        std::span<const std::uint64_t> hashes) {
    if (options.hash) outcome.hashes.insert(outcome.hashes.end(), hashes.begin(), hashes.end());
    progress.update(done, total);
  };
  const auto start = std::chrono::steady_clock::now();
  if (!options.out.empty()) {
    report_interrupt();
    outcome.dump = train::dump(prior, options.dump, note);
    outcome.n_bytes = bytes_at(options.dump.out);
  } else {
    const train::Sample sample(prior, options.dump.first, options.dump.count, options.dump.shard);
    const std::int64_t step = options.dump.batch > 0 ? options.dump.batch : sample.default_batch();
    for (std::int64_t j = 0; j < sample.size(); j += step) {
      const std::int64_t n = std::min(step, sample.size() - j);
      note(j + n, sample.size(), sample.generate(j, n).hashes);
    }
    outcome.dump.n_datasets = sample.size();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::string hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

void print_text(const GenerateOptions& options, const Outcome& outcome) {
  const train::DumpResult& dump = outcome.dump;
  if (!options.out.empty()) {
    std::string how;
    if (dump.n_kept > 0) how += fmt::format(", {} of them already written", dump.n_kept);
    if (dump.n_damaged > 0) how += fmt::format(", {} damaged and generated again", dump.n_damaged);
    const auto made = static_cast<double>(dump.n_datasets - dump.n_kept);
    fmt::print("{}: {} datasets{}, {}, {:.1f} s ({:.3g}/s)\n", options.out, dump.n_datasets, how,
               format_bytes(static_cast<std::size_t>(outcome.n_bytes)), outcome.seconds,
               made / std::max(outcome.seconds, 1e-9));
  }
  if (options.hash) fmt::print("{}\n", hex(prior::hash_all(outcome.hashes)));
}

void print_json(const GenerateOptions& options, const prior::Prior& prior, const Outcome& outcome) {
  Json json{{"prior", Json::parse(prior.config().to_json())},
            {"seed", prior.config().seed},
            {"first", options.dump.first},
            {"count", options.dump.count},
            {"shard", options.dump.shard.to_string()},
            {"device", to_string(prior.device())},
            {"n_datasets", outcome.dump.n_datasets},
            {"seconds", outcome.seconds}};
  if (!options.out.empty()) {
    json["out"] = options.out;
    json["n_bytes"] = outcome.n_bytes;
    json["n_kept"] = outcome.dump.n_kept;
    json["n_damaged"] = outcome.dump.n_damaged;
  }
  if (options.hash) {
    json["hash"] = hex(prior::hash_all(outcome.hashes));
    json["datasets"] = Json::array();
    const train::Sample sample(prior, options.dump.first, options.dump.count, options.dump.shard);
    for (std::size_t j = 0; j < outcome.hashes.size(); ++j) {
      json["datasets"].push_back({{"index", sample.index(static_cast<std::int64_t>(j))},
                                  {"hash", hex(outcome.hashes[j])}});
    }
  }
  fmt::print("{}\n", json.dump(2));
}

void run(GenerateOptions& options) {
  GenerateSettings settings;
  describe_generate().read(&settings, options.settings.given());
  if (options.settings.prints()) {
    Json json = describe_generate().to_json(&settings);
    json["prior"]["seed"] = settings.prior.seed;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (options.out.empty() && !options.hash) {
    throw CLI::ValidationError(
        "give --out PATH to write the datasets, or --hash to print their hash");
  }
  if (settings.dump.count < 1) throw CLI::ValidationError("--count", "is required");
  settings.prior.check();
  if (options.threads > 0) set_thread_count(options.threads);
  options.dump = settings.dump;
  options.dump.out = options.out;
  const prior::Prior prior(settings.prior,
                           options.device_given ? options.device : parse_device("auto"));
  const Outcome outcome = generate(options, prior);
  options.json ? print_json(options, prior, outcome) : print_text(options, outcome);
}

}  // namespace

void add_prior_generate(CLI::App& prior) {
  CLI::App* command = prior.add_subcommand("generate", "Write datasets to a file, or hash them");
  const auto options = std::make_shared<GenerateOptions>();
  options->settings.add_to(*command, describe_generate());
  command
      ->add_option(
          "--out", options->out,
          "Output: name.h5, name.npz, name.parquet, or a folder for one .npz file per batch")
      ->type_name("PATH");
  command->add_flag("--hash", options->hash,
                    "Print one hash of all datasets in order; with --json also one per dataset");
  add_device(*command, options->device, "Device that generates the datasets")
      ->each([options](const std::string&) { options->device_given = true; });
  add_threads(*command, options->threads);
  add_json(*command, options->json);
  add_quiet(*command, options->quiet);
  command->footer(
      "A dump that was interrupted resumes when the command is run again. <out>.manifest.json "
      "describes its content.");
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
