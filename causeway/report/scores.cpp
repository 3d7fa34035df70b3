#include "causeway/report/scores.h"

#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

std::string shown_score(double value) {
  if (!std::isfinite(value)) return "–";
  return fmt::format("{:.3f}", std::fabs(value) < 0.0005 ? 0.0 : value);
}

std::string best_of(const std::vector<double>& values, bool lower_is_better) {
  double best = NAN;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    if (std::isnan(best) || (lower_is_better ? value < best : value > best)) best = value;
  }
  return shown_score(best);
}

// One line per metric. The best value and those that print the same are marked.
std::string score_rows(const Scores& scores, const ScoreTable& table) {
  std::string html = fmt::format(
      "<tbody><tr><th class=\"name\" colspan=\"{}\" scope=\"rowgroup\">{} <small>{}</small></th>"
      "</tr>",
      scores.methods.size() + 1, escaped(table.name), escaped(table.note));
  for (std::size_t m = 0; m < scores.metrics.size(); ++m) {
    const std::string best = best_of(table.values[m], scores.metrics[m].lower_is_better);
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(scores.metrics[m].name));
    for (const double value : table.values[m]) {
      const std::string text = shown_score(value);
      const bool is_best = std::isfinite(value) && text == best;
      html += is_best ? fmt::format("<td class=\"best\"><strong>{}</strong></td>", text)
                      : fmt::format("<td>{}</td>", text);
    }
    html += "</tr>";
  }
  return html + "</tbody>";
}

ScoreTable means_of(const Scores& scores) {
  ScoreTable means{"mean", fmt::format("over {} tables", scores.tables.size()), {}};
  for (std::size_t m = 0; m < scores.metrics.size(); ++m) {
    std::vector<double> sums(scores.methods.size(), 0);
    for (const ScoreTable& table : scores.tables) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += table.values[m][i];
    }
    for (double& sum : sums) sum /= static_cast<double>(scores.tables.size());
    means.values.push_back(sums);
  }
  return means;
}

std::string only_method_row(const ScoreTable& table) {
  std::string cells;
  for (const auto& values : table.values) {
    cells += fmt::format("<td>{}</td>", shown_score(values.front()));
  }
  return fmt::format("<tr><th scope=\"row\"><b>{}</b><br/><small>{}</small></th>{}</tr>",
                     escaped(table.name), escaped(table.note), cells);
}

}  // namespace

Metric metric_of(const std::string& name) {
  if (name == "roc_auc") return {"ROC AUC"};
  if (name == "log_loss") return {"log loss", true};
  if (name == "rmse") return {"RMSE", true};
  if (name == "mae") return {"MAE", true};
  if (name == "r2") return {"R²"};
  return {name};
}

std::string scores_html(const Scores& scores) {
  std::string head;
  std::string body;
  const bool is_alone = scores.methods.size() == 1;
  if (is_alone) {
    for (const Metric& metric : scores.metrics) {
      head += fmt::format("<th scope=\"col\">{}</th>", escaped(metric.name));
    }
  } else {
    for (const std::string& method : scores.methods) {
      head += fmt::format("<th scope=\"col\">{}</th>", escaped(method));
    }
  }
  std::vector<ScoreTable> rows = scores.tables;
  if (rows.size() > 1) rows.push_back(means_of(scores));
  for (const ScoreTable& table : rows) {
    body += is_alone ? only_method_row(table) : score_rows(scores, table);
  }
  if (is_alone) body = fmt::format("<tbody>{}</tbody>", body);
  return fmt::format(
      "<div class=\"card scores\"><table><thead><tr><td></td>{}</tr></thead>{}</table></div>", head,
      body);
}

}  // namespace causeway::report
