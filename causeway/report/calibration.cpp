#include "causeway/report/calibration.h"

#include "causeway/report/chart.h"
#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace causeway::report {

namespace {

constexpr int kLevels = 20;

// The fraction of rows in the central intervals of level k / kLevels, k = 0 … kLevels.
std::vector<ChartPoint> coverage(std::vector<double> levels) {
  std::sort(levels.begin(), levels.end());
  std::vector<ChartPoint> points;
  for (int k = 0; k <= kLevels; ++k) {
    const double level = static_cast<double>(k) / kLevels;
    const auto inside = std::upper_bound(levels.begin(), levels.end(), level) - levels.begin();
    points.push_back({level, static_cast<double>(inside) / static_cast<double>(levels.size())});
  }
  return points;
}

void add_percent_axes(Chart& chart) {
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    chart.tick_y(share, fmt::format("{:.0f}%", 100 * share));
  }
  chart.line({{0, 0}, {1, 1}}, "reference");
}

std::string figure(const std::string& method, double error, std::size_t n_rows,
                   const std::string& charts) {
  return fmt::format(
      "<figure><figcaption><b>{}</b> calibration error {:.3f} over {} rows</figcaption>{}</figure>",
      escaped(method), error, n_rows, charts);
}

// Accuracy by confidence, and below it the number of rows.
std::string reliability_figure(const Calibration& of) {
  const std::vector<ReliabilityBin> bins = reliability(of.answers);
  const double error = calibration_error(bins);
  std::size_t most = 0;
  for (const ReliabilityBin& bin : bins) most = std::max(most, bin.count);
  Chart chart(fmt::format("{}: calibration error {:.3f}", of.method, error), {0, 1, ""},
              {0, 1, "accuracy"});
  Chart counts(fmt::format("{}: up to {} rows per bin", of.method, most), {0, 1, "confidence"},
               {0, static_cast<double>(most), "rows"});
  add_percent_axes(chart);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    counts.tick_x(share, fmt::format("{:.0f}%", 100 * share));
  }
  counts.tick_y(static_cast<double>(most), std::to_string(most));
  std::vector<ChartPoint> curve;
  for (const ReliabilityBin& bin : bins) curve.push_back({bin.confidence, bin.accuracy});
  chart.line(curve, "curve thin");
  for (const ReliabilityBin& bin : bins) {
    const std::string text = fmt::format("{} rows: confidence {:.0f}%, accuracy {:.0f}%", bin.count,
                                         100 * bin.confidence, 100 * bin.accuracy);
    const double share = static_cast<double>(bin.count) / static_cast<double>(of.answers.size());
    chart.dot({bin.confidence, bin.accuracy}, 4 + 16 * std::sqrt(share), text);
    counts.bar(bin.low, bin.high, static_cast<double>(bin.count), text);
  }
  return figure(of.method, error, of.answers.size(),
                chart.html("plot square") + counts.html("plot strip"));
}

std::string coverage_figure(const Calibration& of) {
  const double error = coverage_error(of.levels);
  Chart chart(fmt::format("{}: calibration error {:.3f}", of.method, error),
              {0, 1, "predicted probability of the interval"}, {0, 1, "targets inside"});
  add_percent_axes(chart);
  for (const double share : {0.0, 0.5, 1.0}) {
    chart.tick_x(share, fmt::format("{:.0f}%", 100 * share));
  }
  const std::vector<ChartPoint> points = coverage(of.levels);
  chart.line(points, "curve");
  for (const ChartPoint& point : points) {
    chart.value(point, fmt::format("{:.0f}% intervals contain {:.0f}% of the targets",
                                   100 * point.x, 100 * point.y));
  }
  return figure(of.method, error, of.levels.size(), chart.html("plot square titled"));
}

}  // namespace

std::vector<ReliabilityBin> reliability(const std::vector<Answer>& answers) {
  constexpr std::size_t kBins = 10;
  std::array<ReliabilityBin, kBins> bins;
  for (const Answer& answer : answers) {
    const double place = std::clamp(answer.confidence * kBins, 0.0, kBins - 1.0);
    ReliabilityBin& bin = bins[static_cast<std::size_t>(place)];
    ++bin.count;
    bin.confidence += answer.confidence;
    bin.accuracy += answer.correct ? 1 : 0;
  }
  std::vector<ReliabilityBin> found;
  for (std::size_t i = 0; i < kBins; ++i) {
    ReliabilityBin bin = bins[i];
    if (bin.count == 0) continue;
    bin.low = static_cast<double>(i) / kBins;
    bin.high = static_cast<double>(i + 1) / kBins;
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
    found.push_back(bin);
  }
  return found;
}

double calibration_error(const std::vector<ReliabilityBin>& bins) {
  double sum = 0;
  double n = 0;
  for (const ReliabilityBin& bin : bins) {
    sum += static_cast<double>(bin.count) * std::fabs(bin.confidence - bin.accuracy);
    n += static_cast<double>(bin.count);
  }
  return n > 0 ? sum / n : 0;
}

double coverage_error(std::vector<double> levels) {
  if (levels.empty()) return 0;
  double sum = 0;
  const std::vector<ChartPoint> points = coverage(std::move(levels));
  for (int k = 1; k < kLevels; ++k) {
    const ChartPoint& point = points[static_cast<std::size_t>(k)];
    sum += std::fabs(point.x - point.y);
  }
  return sum / (kLevels - 1);
}

std::string calibration_html(const std::vector<Calibration>& methods) {
  std::string figures;
  for (const Calibration& method : methods) {
    if (!method.answers.empty()) figures += reliability_figure(method);
    if (!method.levels.empty()) figures += coverage_figure(method);
  }
  return figures.empty() ? "" : fmt::format("<div class=\"card panels\">{}</div>", figures);
}

const char* calibration_lead(bool regression) {
  return regression
             ? "The model predicts a distribution for each row. How many targets are in its "
               "central "
               "intervals, by the probability of the interval? On the dashed line both are equal."
             : "Accuracy by the probability of the predicted class. On the dashed line both are "
               "equal. The size of dots and bars is the number of rows.";
}

}  // namespace causeway::report
