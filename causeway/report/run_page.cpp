#include "causeway/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

std::string loss_chart(const RunPage& page) {
  CurveChart chart{"training loss", {{"training loss", page.losses}}};
  chart.with_means = true;
  const bool has_validation =
      std::any_of(page.validation.begin(), page.validation.end(),
                  [](const auto& point) { return std::isfinite(point.second); });
  if (has_validation) {
    chart.quantity = "loss";
    chart.curves.push_back({"loss on held-out data", page.validation});
  }
  return curves_html(chart);
}

std::string score_chart(const RunPage& page) {
  return curves_html({page.score_name, {{page.score_name, page.score_curve}}});
}

std::string rate_chart(const RunPage& page) {
  CurveChart chart{"tokens/s", {{"tokens per second", page.rates}}};
  chart.from_zero = true;
  chart.style = "plot low";
  return curves_html(chart);
}

std::string memory_chart(const RunPage& page) {
  CurveChart chart{"MiB", {{"peak memory", page.memory}}};
  for (auto& [step, bytes] : chart.curves.front().points) bytes /= 1 << 20;
  chart.from_zero = true;
  chart.style = "plot low";
  return curves_html(chart);
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

std::string reproduce(const RunPage& page) {
  std::string html;
  for (const std::string& command : page.commands) html += command_html(command) + "\n";
  if (!page.settings.empty()) {
    html += fmt::format("<details open=\"open\"><summary>{} settings</summary>{}</details>",
                        page.settings.size(), facts_html(page.settings));
  }
  return html;
}

}  // namespace

std::string run_html(const RunPage& page) {
  std::string body;
  const auto add = [&](std::string_view id, std::string_view title, std::string_view lead,
                       const std::string& content) {
    if (!content.empty()) body += section_html(id, title, lead, content);
  };
  add("loss", "Training loss", page.loss_lead, loss_chart(page));
  if (!page.scores.tables.empty()) {
    add("scores", "Scores", page.scores.lead, scores_html(page.scores));
  }
  add("score-curve", "Score during training", "", score_chart(page));
  const bool regression = !page.calibration.empty() && page.calibration.front().answers.empty();
  add("calibration", "Calibration", calibration_lead(regression),
      calibration_html(page.calibration));
  add("throughput", "Throughput", "Tokens per second since the line before.", rate_chart(page));
  add("memory", "Memory", "Peak memory of tensors on the device, since the start of the program.",
      memory_chart(page));
  add("samples", "Samples", "Text that the model wrote, the latest first.",
      sample_list(page.samples));
  if (!page.gallery.empty()) {
    add("gallery", "Training data", "The first datasets of the prior, each with its causal graph.",
        gallery_frame(page.gallery));
  }
  add("reproduce", "Reproduce",
      "The command that repeats the run, and its settings. The training data is the same on every "
      "machine; the number of steps within a time limit is not.",
      reproduce(page));
  return page_html({page.title, page.lead, facts_html(page.facts, "large"), body});
}

}  // namespace causeway::report
