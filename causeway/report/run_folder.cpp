#include "causeway/report/run_folder.h"

#include "causeway/core/config.h"
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

// Calls `read` with each line of a file of JSON lines; ignores an incomplete last line. A missing
// key or a wrong type is a format error that names the file.
template <class Read>
void read_lines(const fs::path& path, const Read& read) {
  const MappedFile file("report", path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  try {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string_view::npos) {
        logger::warn(
            fmt::format("[report] {} ends in an incomplete line; left out", shown(path.string())));
        break;
      }
      read(Json::parse(text.substr(at, end - at)));
      at = end + 1;
    }
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report", fmt::format("{}: {}", shown(path.string()), problem.what()));
  }
}

double number(const Json& line, const char* name) {
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

void read_settings(const fs::path& path, Facts& settings) {
  const MappedFile file("report", path);
  try {
    const Json flat = Json::parse(file.bytes().begin(), file.bytes().end()).flatten();
    for (const auto& [place, value] : flat.items()) {
      if (value.is_null() || place == "/version") continue;
      std::string name = place.substr(1);
      std::replace(name.begin(), name.end(), '/', '.');
      settings.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "report", fmt::format("{}: {}", shown(path.string()), problem.what()));
  }
}

void describe_tables(const Json& last, RunPage& page) {
  page.title = fmt::format("Tabular model trained in {:.0f} s", number(last, "seconds"));
  page.lead =
      "Trained on synthetic datasets only, each used for one step. It predicts the classes of "
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

}  // namespace

RunPage read_run(const fs::path& folder) {
  RunPage page;
  Json last;
  read_lines(folder / "log.jsonl", [&](Json line) {
    const double step = number(line, "step");
    page.losses.emplace_back(step, number(line, "loss"));
    page.validation.emplace_back(step, number(line, "validation_loss"));
    page.rates.emplace_back(step, number(line, "tokens_per_second"));
    last = std::move(line);
  });
  if (page.losses.empty()) {
    fail(ErrorKind::format, "report",
         fmt::format("{} has no lines", shown((folder / "log.jsonl").string())));
  }
  page.facts = {{"training time", fmt::format("{:.0f} s", number(last, "seconds"))},
                {"steps", grouped(number(last, "step"))}};
  if (last.contains("tokens")) {
    describe_text(last, page);
  } else {
    describe_tables(last, page);
  }
  page.facts.emplace_back("final loss", fmt::format("{:.3f}", number(last, "loss")));
  if (fs::exists(folder / "model.safetensors")) {
    page.facts.emplace_back("parameters", grouped(n_parameters(folder / "model.safetensors")));
  }
  if (fs::exists(folder / "samples.jsonl")) {
    read_lines(folder / "samples.jsonl", [&](const Json& line) {
      page.samples.emplace_back(line.at("step").get<double>(), line.at("text").get<std::string>());
    });
  }
  if (fs::exists(folder / "config.json")) read_settings(folder / "config.json", page.settings);
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
