// `causeway pairs verify|export`: what reads records.
#include "cli/options.h"
#include "cli/pairs.h"

#include "causeway/core/config.h"
#include "causeway/core/file.h"
#include "causeway/pairs/dataset.h"
#include "causeway/pairs/export.h"
#include "causeway/pairs/verify_record.h"

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
  bool json = false;
};

void verify(const ReadOptions& options) {
  std::int64_t count = 0;
  std::vector<std::pair<std::string, std::string>> wrong;
  pairs::read_records(options.path, [&](std::string_view line, const std::string& place) {
    const pairs::RecordCheck check = pairs::verify_record(line);
    ++count;
    if (check.problem.empty()) return;
    wrong.emplace_back(check.id.empty() ? place : place + " (" + check.id + ")", check.problem);
    if (!options.json) fmt::print("{}: {}\n", wrong.back().first, check.problem);
  });
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
  fmt::print("{}: {} examples ({})\n", options.out, count, options.style);
}

}  // namespace

void add_pairs_verify(CLI::App& pairs) {
  CLI::App* command =
      pairs.add_subcommand("verify", "Compile, run and differentiate every record again");
  const auto options = std::make_shared<ReadOptions>();
  add_records(*command, options->path);
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
      ->check(CLI::IsMember({"instruct", "chat"}))
      ->type_name("instruct|chat");
  command->callback([options] { write_export(*options); });
}

}  // namespace causeway::cli
