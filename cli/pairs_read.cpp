// `causeway pairs verify|export`: what reads records.
#include "cli/options.h"
#include "cli/pairs.h"

#include "causeway/core/config.h"
#include "causeway/core/file.h"
#include "causeway/pairs/backend.h"
#include "causeway/pairs/dataset.h"
#include "causeway/pairs/export.h"
#include "causeway/pairs/gpu_check.h"
#include "causeway/pairs/verify_record.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace causeway::cli {

namespace {

struct ReadOptions {
  std::string path;
  std::string out;
  std::string style = "instruct";
  std::vector<std::string> checks;
  int threads = 0;
  bool json = false;
};

void verify(const ReadOptions& options) {
  // Compilers take long, and threads without work wait at the end of a batch.
  constexpr std::size_t kBatch = 512;
  constexpr std::size_t kGpuBatch = 4096;
  pairs::RecordChecks checks;
  checks.threads = options.threads > 0 ? options.threads : thread_count();
  for (const std::string& check : options.checks) (check == "cpp" ? checks.cpp : checks.gpu) = true;
  if (checks.gpu) pairs::require_gpu();
  const auto workers = checks.gpu ? pairs::compile_workers_for(checks.threads) : nullptr;
  checks.workers = workers.get();
  std::int64_t count = 0;
  std::vector<std::pair<std::string, std::string>> wrong;
  std::vector<std::string> lines;
  std::vector<std::string> places;
  const auto verify_batch = [&] {
    const std::vector<pairs::RecordCheck> results = pairs::verify_records(lines, checks);
    for (std::size_t i = 0; i < results.size(); ++i) {
      ++count;
      const auto& [id, problem] = results[i];
      if (problem.empty()) continue;
      wrong.emplace_back(id.empty() ? places[i] : places[i] + " (" + id + ")", problem);
      if (!options.json) fmt::print("{}: {}\n", wrong.back().first, problem);
    }
    lines.clear();
    places.clear();
  };
  pairs::read_records(options.path, [&](std::string_view line, const std::string& place) {
    lines.emplace_back(line);
    places.push_back(place);
    if (lines.size() == (checks.gpu ? kGpuBatch : kBatch)) verify_batch();
  });
  verify_batch();
  if (options.json) {
    Json json{{"records", count},
              {"verified", count - static_cast<std::int64_t>(wrong.size())},
              {"wrong", Json::array()}};
    for (const auto& [place, problem] : wrong)
      json["wrong"].push_back({{"record", place}, {"problem", problem}});
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{} of {} records verified\n", count - static_cast<std::int64_t>(wrong.size()),
               count);
  }
  if (!wrong.empty())
    throw Error(
        ErrorKind::format,
        fmt::format("[pairs.verify] {} of {} records failed verification", wrong.size(), count));
}

void write_export(const ReadOptions& options) {
  FileWriter file("pairs.export", options.out);
  std::int64_t count = 0;
  pairs::read_records(options.path, [&](std::string_view line, const std::string& place) {
    file.write(pairs::export_record(line, place, options.style) + "\n");
    ++count;
  });
  file.commit();
  if (options.json) {
    const Json json{{"out", options.out}, {"n_examples", count}, {"style", options.style}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}: {} examples ({})\n", options.out, count, options.style);
  }
}

}  // namespace

void add_pairs_verify(CLI::App& pairs) {
  CLI::App* command =
      pairs.add_subcommand("verify", "Compile, run and differentiate every record again");
  const auto options = std::make_shared<ReadOptions>();
  add_records(*command, options->path);
  command
      ->add_option("--verify", options->checks,
                   "Further checks: cpp (compile and run the C++), gpu (run on the first GPU)")
      ->delimiter(',')
      ->check(CLI::IsMember({"cpp", "gpu"}).description(""))
      ->type_name("cpp|gpu,...");
  add_threads(*command, options->threads);
  add_json(*command, options->json);
  command->footer("Exits with code 3 if a record fails.");
  command->callback([options] { verify(*options); });
}

void add_pairs_export(CLI::App& pairs) {
  CLI::App* command = pairs.add_subcommand("export", "Write records as training examples");
  const auto options = std::make_shared<ReadOptions>();
  add_records(*command, options->path);
  command->add_option("-o,--out", options->out, "Output file (JSON lines)")
      ->type_name("FILE")
      ->required();
  command->add_option("--style", options->style, "Form of an example [instruct]")
      ->check(CLI::IsMember({"instruct", "chat"}).description(""))
      ->type_name("instruct|chat");
  add_json(*command, options->json);
  command->callback([options] { write_export(*options); });
}

}  // namespace causeway::cli
