// `causeway prior generate`: datasets to a file, or their hashes, or both.
#include "cli/options.h"
#include "cli/prior.h"
#include "cli/prior_options.h"
#include "cli/progress.h"

#include "causeway/core/environment.h"
#include "causeway/train/dump.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

struct GenerateOptions {
  PriorOptions prior;
  train::DumpOptions dump;
  std::string out;
  bool hash = false;
};

struct Outcome {
  train::DumpResult dump;
  std::vector<std::uint64_t> hashes;  // of the datasets in order, where they are wanted
  std::int64_t n_bytes = 0;
  double seconds = 0.0;
};

// A dump can be gone on with whenever it was left, so an interrupt only says so.
void say_so_when_interrupted() {
  std::signal(SIGINT, [](int) {
    constexpr std::string_view kWords =
        "\ncauseway: interrupted; the same command goes on from here\n";
    const ssize_t ignored = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    static_cast<void>(ignored);
    _exit(130);
  });
}

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
  Progress progress("datasets", options.prior.quiet);
  const auto note = [&](std::int64_t done, std::int64_t total,
                        std::span<const std::uint64_t> hashes) {
    if (options.hash) outcome.hashes.insert(outcome.hashes.end(), hashes.begin(), hashes.end());
    progress.update(done, total);
  };
  const auto start = std::chrono::steady_clock::now();
  if (!options.out.empty()) {
    say_so_when_interrupted();
    outcome.dump = train::dump(prior, options.dump, note);
    outcome.n_bytes = bytes_at(options.dump.out);
  } else {
    const train::Sample sample(prior, options.dump.first, options.dump.count, options.dump.shard);
    const std::int64_t step = options.dump.batch > 0 ? options.dump.batch : sample.good_batch();
    for (std::int64_t j = 0; j < sample.size(); j += step) {
      const std::int64_t n = std::min(step, sample.size() - j);
      note(j + n, sample.size(), sample.make(j, n).hashes);
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
    if (dump.n_kept > 0) how += fmt::format(", {} of them there already", dump.n_kept);
    if (dump.n_damaged > 0) how += fmt::format(", {} damaged and made again", dump.n_damaged);
    const auto made = static_cast<double>(dump.n_datasets - dump.n_kept);
    fmt::print("{}: {} datasets{}, {}, {:.1f} s ({:.3g} a second)\n", options.out, dump.n_datasets,
               how, format_bytes(static_cast<std::size_t>(outcome.n_bytes)), outcome.seconds,
               made / std::max(outcome.seconds, 1e-9));
  }
  if (options.hash) fmt::print("{}\n", hex(prior::hash_all(outcome.hashes)));
}

void print_json(const GenerateOptions& options, const prior::Prior& prior, const Outcome& outcome) {
  using Json = nlohmann::ordered_json;
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
  if (options.out.empty() && !options.hash) {
    throw CLI::ValidationError(
        "give --out PATH to write the datasets, or --hash to see their hash");
  }
  options.dump.out = options.out;
  const prior::Prior prior = options.prior.make();
  const Outcome outcome = generate(options, prior);
  options.prior.json ? print_json(options, prior, outcome) : print_text(options, outcome);
}

}  // namespace

void add_prior_generate(CLI::App& prior) {
  CLI::App* command = prior.add_subcommand("generate", "Write datasets to a file, or hash them");
  const auto options = std::make_shared<GenerateOptions>();
  options->dump.count = 1;
  command->add_option("--count", options->dump.count, "How many datasets")
      ->type_name("N")
      ->required()
      ->check(at_least_one());
  command->add_option("--first", options->dump.first, "The number of the first [0]")
      ->type_name("N");
  command
      ->add_option("--out", options->out,
                   "Where to: name.h5, name.npz, or a folder's name for an .npz a batch")
      ->type_name("PATH");
  command->add_flag("--hash", options->hash,
                    "Print one hash over all datasets in order; with --json one each as well");
  command
      ->add_option_function<std::string>(
          "--shard",
          [options](const std::string& text) {
            try {
              options->dump.shard = train::Shard::parse(text);
            } catch (const Error&) {
              throw CLI::ValidationError(
                  "--shard", fmt::format("\"{}\" is not i/n with i from 0 to n - 1", text));
            }
          },
          "Of n runs, the share of run i: the datasets k with k % n = i")
      ->type_name("I/N");
  command->add_option("--batch", options->dump.batch, "Datasets made at a time")
      ->type_name("N")
      ->check(at_least_one());
  command->add_flag("--overwrite", options->dump.overwrite,
                    "Begin again, whatever stands at --out");
  options->prior.add_to(*command);
  command->footer(
      "Run again, a dump that was interrupted goes on where it was; <out>.manifest.json says what "
      "is in it.");
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
