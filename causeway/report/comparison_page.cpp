#include "causeway/report/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace causeway::report {

namespace {

using Runs = std::vector<RunPage>;

std::string overlay(const Runs& runs, const char* quantity, Series RunPage::*series,
                    bool from_zero) {
  CurveChart chart{quantity, {}};
  for (const RunPage& run : runs) chart.curves.push_back({run.name, run.*series});
  chart.from_zero = from_zero;
  return curves_html(chart);
}

// Names as they first occur; a value for each run, or empty.
using Rows = std::vector<std::pair<std::string, std::vector<std::string>>>;

Rows rows_of(const Runs& runs, Facts RunPage::*facts) {
  Rows rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& fact : runs[i].*facts) {
      auto found = std::find_if(rows.begin(), rows.end(),
                                [&](const auto& row) { return row.first == fact.first; });
      if (found == rows.end()) {
        rows.emplace_back(fact.first, std::vector<std::string>(runs.size()));
        found = rows.end() - 1;
      }
      found->second[i] = fact.second;
    }
  }
  return rows;
}

std::string table_of(const Runs& runs, const Rows& rows) {
  std::string html = "<thead><tr><td></td>";
  for (const RunPage& run : runs) {
    html += fmt::format("<th scope=\"col\">{}</th>", escaped(run.name));
  }
  html += "</tr></thead><tbody>";
  for (const auto& [name, values] : rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(name));
    for (const std::string& value : values) {
      html += fmt::format("<td>{}</td>", value.empty() ? "–" : escaped(value));
    }
    html += "</tr>";
  }
  return fmt::format("<div class=\"card scores\"><table>{}</tbody></table></div>", html);
}

std::string differences(const Runs& runs) {
  Rows rows = rows_of(runs, &RunPage::settings);
  std::erase_if(rows, [](const auto& row) {
    return std::all_of(row.second.begin(), row.second.end(),
                       [&](const std::string& value) { return value == row.second.front(); });
  });
  return rows.empty() ? "<p>All settings are the same.</p>" : table_of(runs, rows);
}

// Scores on the tables of all runs, which must have the same metrics.
Scores common_scores(const Runs& runs) {
  Scores common;
  common.metrics = runs.front().scores.metrics;
  const auto is_same = [](const Metric& a, const Metric& b) { return a.name == b.name; };
  std::map<std::string, std::size_t> seen;
  for (const RunPage& run : runs) {
    common.methods.push_back(run.name);
    if (!std::ranges::equal(run.scores.metrics, common.metrics, is_same)) return {};
    for (const ScoreTable& table : run.scores.tables) ++seen[table.name];
  }
  for (const ScoreTable& table : runs.front().scores.tables) {
    if (seen[table.name] != runs.size()) continue;
    ScoreTable joined{table.name, table.note,
                      std::vector<std::vector<double>>(common.metrics.size())};
    for (const RunPage& run : runs) {
      const auto found =
          std::find_if(run.scores.tables.begin(), run.scores.tables.end(),
                       [&](const ScoreTable& other) { return other.name == table.name; });
      for (std::size_t m = 0; m < joined.values.size(); ++m) {
        joined.values[m].push_back(found->values[m].front());
      }
    }
    common.tables.push_back(std::move(joined));
  }
  return common;
}

std::vector<Calibration> calibrations(const Runs& runs) {
  std::vector<Calibration> all;
  for (const RunPage& run : runs) {
    for (Calibration calibration : run.calibration) {
      calibration.method = run.name;
      all.push_back(std::move(calibration));
    }
  }
  return all;
}

}  // namespace

std::string comparison_html(const Runs& runs) {
  std::string body;
  const auto add = [&](std::string_view id, std::string_view title, std::string_view lead,
                       const std::string& content) {
    if (!content.empty()) body += section_html(id, title, lead, content);
  };
  add("results", "Results", "The last line of each log.",
      table_of(runs, rows_of(runs, &RunPage::facts)));
  add("settings", "Settings that differ", "", differences(runs));
  add("loss", "Training loss", "The values of the logs.",
      overlay(runs, "training loss", &RunPage::losses, false));
  add("validation", "Loss on held-out data", "",
      overlay(runs, "validation loss", &RunPage::validation, false));
  add("score-curve", "Score during training", "",
      overlay(runs, "mean score", &RunPage::score_curve, false));
  if (const Scores scores = common_scores(runs); !scores.tables.empty()) {
    add("scores", "Scores", "On the tables of all runs. The best value of each line is marked.",
        scores_html(scores));
  }
  const std::vector<Calibration> calibrated = calibrations(runs);
  const bool regression = !calibrated.empty() && calibrated.front().answers.empty();
  add("calibration", "Calibration", calibration_lead(regression), calibration_html(calibrated));
  add("throughput", "Throughput", "Tokens per second since the line before.",
      overlay(runs, "tokens/s", &RunPage::rates, true));
  std::string names;
  std::string commands;
  for (const RunPage& run : runs) {
    names += (names.empty() ? "" : ", ") + run.name;
    for (const std::string& command : run.commands) commands += command_html(command) + "\n";
  }
  add("reproduce", "Reproduce", "The commands that repeat the runs.", commands);
  return page_html({fmt::format("{} training runs compared", runs.size()), names, "", body});
}

}  // namespace causeway::report
