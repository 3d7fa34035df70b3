#include "causeway/report/run_page.h"

#include "causeway/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

using Series = std::vector<std::pair<double, double>>;

std::vector<ChartPoint> finite_points(const Series& series) {
  std::vector<ChartPoint> points;
  for (const auto& [step, value] : series) {
    if (std::isfinite(value)) points.push_back({step, value});
  }
  return points;
}

std::vector<ChartPoint> running_means(const std::vector<ChartPoint>& points) {
  constexpr std::size_t kWindow = 5;
  std::vector<ChartPoint> means;
  for (std::size_t k = 0; k < points.size(); ++k) {
    const std::size_t first = k + 1 < kWindow ? 0 : k + 1 - kWindow;
    double sum = 0;
    for (std::size_t i = first; i <= k; ++i) sum += points[i].y;
    means.push_back({points[k].x, sum / static_cast<double>(k + 1 - first)});
  }
  return means;
}

std::string loss_chart(const RunPage& page) {
  const std::vector<ChartPoint> points = finite_points(page.losses);
  if (points.size() < 2) return "";
  const std::vector<ChartPoint> means = running_means(points);
  const std::vector<ChartPoint> held_out = finite_points(page.validation);
  double low = points.front().y;
  double high = low;
  for (const auto* list : {&points, &held_out}) {
    for (const ChartPoint& point : *list) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const double margin = high > low ? 0.06 * (high - low) : 0.1;
  low -= margin;
  high += margin;
  const double last = points.back().x;
  Chart chart(fmt::format("Loss by step: {:.3f} at step {:.0f}, {:.3f} at step {:.0f}",
                          points.front().y, points.front().x, points.back().y, last),
              {0, last, "step"}, {low, high, held_out.empty() ? "training loss" : "loss"});
  for (const double step : round_numbers(0, last)) chart.tick_x(step, grouped(step));
  for (const double loss : round_numbers(low, high, 5)) {
    chart.tick_y(loss, fmt::format("{:.3g}", loss));
  }
  chart.line(points, "curve faint");
  chart.line(means, "curve");
  chart.line(held_out, "second");
  chart.dot(means.back(), 8, fmt::format("{:.3f}", means.back().y));
  for (const ChartPoint& point : held_out) {
    chart.dot(point, 6, fmt::format("step {}: {:.3f} on held-out text", grouped(point.x), point.y));
  }
  return fmt::format("<div class=\"card\">{}</div>", chart.html());
}

std::string rate_chart(const Series& rates) {
  const std::vector<ChartPoint> points = finite_points(rates);
  if (points.size() < 2) return "";
  double most = 0;
  for (const ChartPoint& point : points) most = std::max(most, point.y);
  Chart chart(fmt::format("Tokens per second by step, up to {}", grouped(most)),
              {0, points.back().x, "step"}, {0, 1.06 * most, "tokens/s"});
  for (const double step : round_numbers(0, points.back().x)) chart.tick_x(step, grouped(step));
  for (const double rate : round_numbers(0, 1.06 * most, 3)) chart.tick_y(rate, grouped(rate));
  chart.line(points, "curve");
  return fmt::format("<div class=\"card\">{}</div>", chart.html("plot low"));
}

std::string sample_list(const std::vector<std::pair<double, std::string>>& samples) {
  constexpr std::size_t kMost = 10;
  std::string html;
  const std::size_t first = samples.size() > kMost ? samples.size() - kMost : 0;
  for (std::size_t i = samples.size(); i > first; --i) {
    const auto& [step, text] = samples[i - 1];
    html += fmt::format(
        "<figure class=\"card\"><figcaption>step {}</figcaption><pre class=\"sample\">{}</pre>"
        "</figure>",
        grouped(step), escaped(text));
  }
  return html;
}

// One line per metric. The best value and those that print the same are marked.
std::string score_rows(const Scores& scores, const ScoreTable& table) {
  std::string html = fmt::format(
      "<tbody><tr><th class=\"name\" colspan=\"{}\" scope=\"rowgroup\">{} <small>{}</small></th>"
      "</tr>",
      scores.methods.size() + 1, escaped(table.name), escaped(table.note));
  for (std::size_t m = 0; m < scores.metrics.size(); ++m) {
    const std::vector<double>& values = table.values[m];
    const auto best = scores.metrics[m].lower_is_better
                          ? std::min_element(values.begin(), values.end())
                          : std::max_element(values.begin(), values.end());
    const std::string best_text = fmt::format("{:.3f}", *best);
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(scores.metrics[m].name));
    for (const double value : values) {
      const std::string text = fmt::format("{:.3f}", value);
      html += text == best_text ? fmt::format("<td class=\"best\"><strong>{}</strong></td>", text)
                                : fmt::format("<td>{}</td>", text);
    }
    html += "</tr>";
  }
  return html + "</tbody>";
}

ScoreTable means_of(const Scores& scores) {
  ScoreTable means{"mean", "over the tables", {}};
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

std::string scores_table(const Scores& scores) {
  std::string head;
  for (const std::string& method : scores.methods) {
    head += fmt::format("<th scope=\"col\">{}</th>", escaped(method));
  }
  std::string body;
  for (const ScoreTable& table : scores.tables) body += score_rows(scores, table);
  body += score_rows(scores, means_of(scores));
  return fmt::format(
      "<div class=\"card scores\"><table><thead><tr><td></td>{}</tr></thead>{}</table></div>", head,
      body);
}

// Accuracy by confidence, and below it the number of rows.
std::string reliability_figure(const std::string& method, const std::vector<Answer>& answers) {
  const std::vector<ReliabilityBin> bins = reliability(answers);
  if (bins.empty()) return "";
  const double error = calibration_error(bins);
  std::size_t most = 0;
  for (const ReliabilityBin& bin : bins) most = std::max(most, bin.count);
  Chart chart(fmt::format("{}: calibration error {:.3f}", method, error), {0, 1, ""},
              {0, 1, "accuracy"});
  Chart counts(fmt::format("{}: up to {} rows per bin", method, most), {0, 1, "confidence"},
               {0, static_cast<double>(most), "rows"});
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    chart.tick_y(share, fmt::format("{:.0f}%", 100 * share));
    counts.tick_x(share, fmt::format("{:.0f}%", 100 * share));
  }
  counts.tick_y(static_cast<double>(most), std::to_string(most));
  chart.line({{0, 0}, {1, 1}}, "reference");
  std::vector<ChartPoint> curve;
  for (const ReliabilityBin& bin : bins) curve.push_back({bin.confidence, bin.accuracy});
  chart.line(curve, "curve thin");
  for (const ReliabilityBin& bin : bins) {
    const std::string tooltip = fmt::format("{} rows: confidence {:.0f}%, accuracy {:.0f}%",
                                            bin.count, 100 * bin.confidence, 100 * bin.accuracy);
    const double share = static_cast<double>(bin.count) / static_cast<double>(answers.size());
    chart.dot({bin.confidence, bin.accuracy}, 4 + 16 * std::sqrt(share), tooltip);
    counts.bar(bin.low, bin.high, static_cast<double>(bin.count), tooltip);
  }
  return fmt::format(
      "<figure><figcaption><b>{}</b> error {:.3f} over {} rows</figcaption>{}{}</figure>",
      escaped(method), error, answers.size(), chart.html("plot square"), counts.html("plot strip"));
}

std::string calibration_panels(const RunPage& page) {
  std::string figures;
  for (const auto& [method, answers] : page.calibration) {
    figures += reliability_figure(method, answers);
  }
  return figures.empty() ? "" : fmt::format("<div class=\"card panels\">{}</div>", figures);
}

// A frame with the height of its content.
std::string gallery_frame(const std::string& gallery) {
  return fmt::format(
      "<iframe title=\"Datasets of the prior\" srcdoc=\"{}\"></iframe>\n<script>\n"
      "const frame = document.querySelector(\"iframe\");\n"
      "function fit() {{ frame.style.height = "
      "frame.contentDocument.documentElement.scrollHeight + 2 + \"px\"; }}\n"
      "frame.addEventListener(\"load\", fit);\naddEventListener(\"resize\", fit);\n</script>",
      escaped(gallery));
}

}  // namespace

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3 + (value < 0 ? 1u : 0u);) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string run_html(const RunPage& page) {
  std::string body;
  if (const std::string chart = loss_chart(page); !chart.empty()) {
    body += section_html("loss", "Training loss", page.loss_lead, chart);
  }
  if (const std::string chart = rate_chart(page.rates); !chart.empty()) {
    body +=
        section_html("throughput", "Throughput", "Tokens per second since the line before.", chart);
  }
  if (!page.samples.empty()) {
    body += section_html("samples", "Samples", "Text that the model wrote, the latest first.",
                         sample_list(page.samples));
  }
  if (!page.scores.tables.empty()) {
    body += section_html("scores", "Scores on real tables", page.scores.lead,
                         scores_table(page.scores));
  }
  if (const std::string panels = calibration_panels(page); !panels.empty()) {
    body += section_html("calibration", "Calibration",
                         "Accuracy on query rows by the probability of the predicted class. On the "
                         "dashed line both are equal. The size of dots and bars is the number of "
                         "rows.",
                         panels);
  }
  if (!page.gallery.empty()) {
    body += section_html("gallery", "Training data",
                         "The first datasets of the prior, each with its causal graph.",
                         gallery_frame(page.gallery));
  }
  std::string commands;
  for (const std::string& command : page.commands) commands += command_html(command) + "\n";
  if (!commands.empty() || !page.settings.empty()) {
    body += section_html("reproduce", "Reproduce",
                         "Settings, and the commands that reproduce the model and this page. The "
                         "training data is the same on every machine; the number of steps within "
                         "a time limit is not.",
                         facts_html(page.settings) + commands);
  }
  return page_html({page.title, page.lead, facts_html(page.facts, "large"), body});
}

}  // namespace causeway::report
