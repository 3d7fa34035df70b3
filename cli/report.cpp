#include "cli/report.h"

#include "cli/options.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/report/comparison_page.h"
#include "causeway/report/run_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace causeway::cli {

namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> folders;
  std::string out;
  std::string scores;
  std::string gallery;
  std::string title;
  std::string device;
  bool json = false;
  std::vector<std::string> commands;
};

std::string read_text(const fs::path& path) {
  const MappedFile file("report", path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Parses a file or a line of it; format errors name the file.
Json parse(const fs::path& path, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report",
         fmt::format("\"{}\" is not valid JSON: {}", path.string(), problem.what()));
  }
}

// Calls `read` with the file's JSON; a missing key or a wrong type is a format error that names the
// file.
template <class Read>
void read_json(const fs::path& path, const Read& read) {
  try {
    read(parse(path, read_text(path)));
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report", fmt::format("\"{}\": {}", path.string(), problem.what()));
  }
}

// {"tables": {name: {rows, features, classes}}, "splits", "scores": {table: {method: {metric}}},
// "answers": {method: [[confidence, correct], …]}}
void read_scores(const std::string& path, report::RunPage& page) {
  read_json(path, [&](const Json& json) {
    report::Scores& scores = page.scores;
    scores = {};
    page.calibration.clear();
    scores.metrics = {{"ROC AUC"}, {"accuracy"}, {"log loss", true}};
    constexpr const char* kKeys[] = {"roc_auc", "accuracy", "log_loss"};
    for (const auto& [method, answers] : json.at("answers").items()) {
      scores.methods.push_back(method);
      std::vector<report::Answer> read;
      for (const Json& answer : answers) {
        read.push_back({answer.at(0).get<double>(), answer.at(1).get<bool>()});
      }
      page.calibration.push_back({method, std::move(read), {}});
    }
    for (const auto& [table, of_table] : json.at("scores").items()) {
      const Json& size = json.at("tables").at(table);
      report::ScoreTable row;
      row.name = table;
      row.note = fmt::format("{} rows, {} features, {} classes", size.at("rows").get<int>(),
                             size.at("features").get<int>(), size.at("classes").get<int>());
      for (const char* key : kKeys) {
        std::vector<double> values;
        for (const std::string& method : scores.methods) {
          values.push_back(of_table.at(method).at(key).get<double>());
        }
        row.values.push_back(values);
      }
      scores.tables.push_back(std::move(row));
    }
    scores.lead = fmt::format(
        "Mean over {} random splits into halves, the same for all methods; large tables are "
        "sampled. Higher is better for ROC AUC (one-vs-one) and accuracy, lower for log loss. The "
        "best value of each line is marked.",
        json.at("splits").get<int>());
  });
}

std::string page_of_run(const ReportOptions& options) {
  report::RunPage page = report::read_run(options.folders.front());
  if (!options.title.empty()) page.title = options.title;
  if (!options.device.empty()) page.facts.emplace_back("device", options.device);
  if (!options.scores.empty()) read_scores(options.scores, page);
  if (!options.gallery.empty()) page.gallery = read_text(options.gallery);
  if (!options.commands.empty()) page.commands = options.commands;
  return report::run_html(page);
}

std::string page_of_runs(const ReportOptions& options) {
  std::vector<report::RunPage> runs;
  for (const std::string& folder : options.folders) {
    runs.push_back(report::read_run(folder));
    const auto has_name = [&](const report::RunPage& other) {
      return &other != &runs.back() && other.name == runs.back().name;
    };
    // Such as a/run and b/run.
    if (std::any_of(runs.begin(), runs.end(), has_name)) runs.back().name = folder;
  }
  return report::comparison_html(runs);
}

void run(const ReportOptions& options) {
  const bool compares = options.folders.size() > 1;
  std::string out = options.out;
  if (out.empty()) {
    out =
        compares ? "comparison.html" : (fs::path(options.folders.front()) / "report.html").string();
  }
  FileWriter file("report", out);
  file.write(compares ? page_of_runs(options) : page_of_run(options));
  file.commit();
  fmt::print("{}\n", options.json ? Json::object({{"out", out}}).dump() : out);
}

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "report", "Write an HTML page about a training run, or one that compares several");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("runs", options->folders, "Folders of the runs; several are compared")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--out", options->out,
                   "Output, an HTML file [FOLDER/report.html, or comparison.html for several runs]")
      ->type_name("FILE");
  const auto add_text = [&](const char* name, std::string& text, const char* help,
                            const char* type) {
    command->add_option(name, text, help)->type_name(type)->group("Page of one run");
  };
  add_text("--scores", options->scores, "JSON file of scores on tables, to include", "FILE");
  add_text("--gallery", options->gallery, "Page written by `causeway prior gallery`, to include",
           "FILE");
  add_text("--title", options->title, "Page title", "TEXT");
  add_text("--hardware", options->device, "Device name shown on the page", "TEXT");
  command
      ->add_option("--command", options->commands,
                   "Command that reproduces the run, shown on the page; repeatable")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group("Page of one run");
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
