#include "causeway/report/run_folder.h"

#include "causeway/core/config.h"
#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/log.h"
#include "causeway/core/mapped_file.h"
#include "causeway/core/shown.h"
#include "causeway/models/model_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

namespace fs = std::filesystem;

// Calls `read` with each line of a file of JSON lines; leaves out, and names, lines that are not
// JSON and an incomplete last line. A missing key or a wrong type is a format error that names the
// file.
template <class Read>
void read_lines(const fs::path& path, const Read& read) {
  const MappedFile file("report", path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  try {
    std::int64_t n_read = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string_view::npos) {
        logger::warn(
            fmt::format("[report] \"{}\" ends in an incomplete line; left out", path.string()));
        break;
      }
      Json line = Json::parse(text.substr(at, end - at), nullptr, false);
      at = end + 1;
      ++n_read;
      if (!line.is_object()) {
        logger::warn(fmt::format("[report] \"{}\": line {} is not a JSON object; left out",
                                 path.string(), n_read));
        continue;
      }
      read(std::move(line));
    }
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report", fmt::format("\"{}\": {}", path.string(), problem.what()));
  }
}

double number(const Json& line, const std::string& name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number() ? found->get<double>() : NAN;
}

double n_parameters(const fs::path& path) {
  double sum = 0;
  for (const auto& [name, tensor] : models::read_model_file(path).state) {
    sum += static_cast<double>(tensor.numel());
  }
  return sum;
}

// Calls `read` with the JSON of a file; a missing key or a wrong type is a format error that names
// the file.
template <class Read>
void read_json(const fs::path& path, const Read& read) {
  const MappedFile file("report", path);
  try {
    read(Json::parse(file.bytes().begin(), file.bytes().end()));
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report", fmt::format("\"{}\": {}", path.string(), problem.what()));
  }
}

void read_settings(const Json& json, const std::string& section, Facts& settings) {
  for (const auto& [name, value] : json.items()) {
    if (value.is_null() || name == "version") continue;
    if (value.is_object()) {
      read_settings(value, section + name + ".", settings);
    } else {
      settings.emplace_back(section + name,
                            value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

// The file that models::Evaluation::to_json describes.
void read_evaluation(const Json& json, RunPage& page) {
  Scores& scores = page.scores;
  scores.lead = json.at("about").get<std::string>();
  scores.methods = {"this run"};
  Calibration calibration{"all tables", {}, {}};
  auto names = json.at("metrics").get<std::vector<std::string>>();
  std::erase_if(names, [&](const std::string& name) {  // those that no table has
    return std::ranges::all_of(json.at("tables"), [&](const Json& table) {
      return std::isnan(number(table.at("scores"), name));
    });
  });
  for (const std::string& name : names) scores.metrics.push_back(metric_of(name));
  for (const Json& table : json.at("tables")) {
    ScoreTable row{table.at("name").get<std::string>(), table.at("size").get<std::string>(), {}};
    for (const std::string& name : names) row.values.push_back({number(table.at("scores"), name)});
    scores.tables.push_back(std::move(row));
    const auto probabilities = table.at("probabilities").get<std::vector<double>>();
    const auto correct = table.at("correct").get<std::vector<bool>>();
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      if (correct.empty()) {
        calibration.levels.push_back(std::fabs(2 * probabilities[i] - 1));
      } else {
        calibration.answers.push_back({probabilities[i], correct.at(i)});
      }
    }
  }
  page.calibration = {std::move(calibration)};
  page.score_name = "mean " + metric_of(json.at("score").get<std::string>()).name;
}

void describe_tables(const Json& last, RunPage& page) {
  page.title = fmt::format("Tabular model trained in {:.0f} s", number(last, "seconds"));
  page.lead =
      "Trained on synthetic datasets only, each used for one step. It predicts the targets of "
      "query "
      "rows from labelled context rows in one forward pass.";
  page.loss_lead = "Cross entropy on new datasets: the values of the log, and their running mean.";
  page.facts.emplace_back("datasets", grouped(number(last, "datasets")));
}

void describe_text(const Json& last, RunPage& page) {
  page.title = fmt::format("GPT trained in {:.0f} s", number(last, "seconds"));
  page.lead = "A language model, trained to predict the next token of its training text.";
  page.loss_lead =
      "Cross entropy per token in nats: the values of the log and their running mean, and the loss "
      "on held-out text.";
  page.facts.emplace_back("tokens", grouped(number(last, "tokens")));
}

// Title and facts, from the last line of the log.
void describe(const Json& last, double score, RunPage& page) {
  page.facts = {{"training time", fmt::format("{:.0f} s", number(last, "seconds"))},
                {"steps", grouped(number(last, "step"))}};
  if (last.contains("tokens")) {
    describe_text(last, page);
  } else {
    describe_tables(last, page);
  }
  page.facts.emplace_back("final loss", fmt::format("{:.3f}", number(last, "loss")));
  if (std::isfinite(score)) page.facts.emplace_back(page.score_name, fmt::format("{:.3f}", score));
  if (const double rate = number(last, "tokens_per_second"); std::isfinite(rate)) {
    page.facts.emplace_back("tokens/s", abbreviated(rate));
  }
  if (const double bytes = number(last, "peak_memory"); std::isfinite(bytes)) {
    page.facts.emplace_back("peak memory", format_bytes(static_cast<std::size_t>(bytes)));
  }
}

}  // namespace

RunPage read_run(const fs::path& folder) {
  RunPage page;
  // A path such as "runs/a/" has no file name.
  page.name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  Json last;
  double score = NAN;
  read_lines(folder / "log.jsonl", [&](Json line) {
    const double step = number(line, "step");
    page.losses.emplace_back(step, number(line, "loss"));
    page.validation.emplace_back(step, number(line, "validation_loss"));
    page.score_curve.emplace_back(step, number(line, "score"));
    page.rates.emplace_back(step, number(line, "tokens_per_second"));
    page.memory.emplace_back(step, number(line, "peak_memory"));
    if (line.contains("score")) score = number(line, "score");
    last = std::move(line);
  });
  if (page.losses.empty()) {
    fail(ErrorKind::format, "report",
         fmt::format("{} has no readable lines", shown((folder / "log.jsonl").string())));
  }
  page.score_name = "mean score";
  if (fs::exists(folder / "evaluation.json")) {
    read_json(folder / "evaluation.json", [&](const Json& json) { read_evaluation(json, page); });
  }
  describe(last, score, page);
  if (fs::exists(folder / "model.safetensors")) {
    page.facts.emplace_back("parameters", grouped(n_parameters(folder / "model.safetensors")));
  }
  if (fs::exists(folder / "samples.jsonl")) {
    read_lines(folder / "samples.jsonl", [&](const Json& line) {
      page.samples.emplace_back(line.at("step").get<double>(), line.at("text").get<std::string>());
    });
  }
  if (fs::exists(folder / "config.json")) {
    read_json(folder / "config.json",
              [&](const Json& json) { read_settings(json, "", page.settings); });
    const std::string path = shell_word((folder / "config.json").string());
    page.commands = {fmt::format("causeway {} --config {} --out {}",
                                 last.contains("tokens") ? "gpt train" : "pretrain", path,
                                 shell_word(page.name + "-repeated"))};
  }
  return page;
}

void write_run_report(const fs::path& folder) {
  try {
    FileWriter file("report", folder / "report.html");
    file.write(run_html(read_run(folder)));
    file.commit();
  } catch (const Error& problem) {
    logger::warn(problem.what());
  }
}

}  // namespace causeway::report
