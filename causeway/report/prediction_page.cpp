#include "causeway/report/prediction_page.h"

#include "causeway/report/bar_table.h"
#include "causeway/report/curves.h"
#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::report {

namespace {

std::string card(const std::string& content) {
  return fmt::format("<div class=\"card scores\">{}</div>", content);
}

std::string counts_table(const PredictionPage& page) {
  std::vector<NamedBar> bars;
  for (const auto& [name, count] : page.counts) {
    const auto rows = static_cast<double>(count);
    bars.push_back({name, rows,
                    fmt::format("{} ({:.0f}%)", grouped(rows),
                                100 * rows / std::max(1.0, static_cast<double>(page.n_rows)))});
  }
  return bar_table("predicted " + page.target, "rows", bars);
}

std::string rows_table(const PredictionPage& page) {
  std::string html =
      "<thead><tr><th scope=\"col\">row</th><th scope=\"col\">" + escaped(page.target) + "</th>";
  if (!page.regression) html += "<th scope=\"col\">probability</th>";
  for (const std::string& name : page.shown_columns) {
    html += fmt::format("<th scope=\"col\">{}</th>", escaped(name));
  }
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const PredictedRow& row = page.rows[i];
    html += fmt::format("<tr><th scope=\"row\">{}</th><td><b>{}</b></td>", i + 1,
                        escaped(row.prediction));
    if (!page.regression) {
      html +=
          fmt::format("<td><span class=\"share\" style=\"--share: {0:.0f}%\">{0:.0f}%</span></td>",
                      100 * row.probability);
    }
    for (const std::string& cell : row.cells) html += fmt::format("<td>{}</td>", escaped(cell));
    html += "</tr>\n";
  }
  return fmt::format("<table>{}</tbody></table>", html);
}

std::string importance_table(const PredictionPage& page) {
  std::vector<NamedBar> bars;
  for (const auto& [name, change] : page.importance) {
    bars.push_back({name, change, fmt::format("{:.3g}", std::max(change, 0.0))});  // not -1e-12
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const NamedBar& a, const NamedBar& b) { return a.value > b.value; });
  return bar_table("column", "change without the column (nats)", bars);
}

std::string row_lead(const PredictionPage& page) {
  const std::string columns = page.importance.empty() || page.shown_columns.empty()
                                  ? ""
                                  : ", with the columns that matter most";
  return std::cmp_less(page.rows.size(), page.n_rows)
             ? fmt::format("The first {} of {} rows{}.", page.rows.size(),
                           grouped(static_cast<double>(page.n_rows)), columns)
             : fmt::format("All rows{}.", columns);
}

}  // namespace

std::string prediction_html(const PredictionPage& page) {
  std::string body = section_html("predictions", "Predictions", "", card(counts_table(page)));
  if (page.scores.tables.empty()) {
    body += section_html("scores", "Scores", page.held_back, "");
  } else {
    body += section_html("scores", "How good are they?", page.held_back + " " + page.scores.lead,
                         scores_html(page.scores));
    body += section_html("calibration", "Calibration", calibration_lead(page.regression),
                         calibration_html({page.calibration}));
  }
  if (!page.importance.empty()) {
    body += section_html(
        "importance", "Which columns matter",
        "How much the predicted probabilities of the held-back rows change if the values of one "
        "column are missing: the mean Kullback-Leibler divergence, as by importance() of the "
        "estimators. It does not say whether predictions get better or worse. Of columns with the "
        "same content, each can appear to matter little.",
        card(importance_table(page)));
  }
  body += section_html("rows", "Row by row", row_lead(page), card(rows_table(page)));
  body += section_html("reproduce", "Reproduce", "", command_html(page.command));
  return page_html({"Predictions of " + page.target, page.lead, "", body});
}

}  // namespace causeway::report
