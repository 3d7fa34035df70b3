#include "causeway/report/curves.h"

#include "causeway/report/chart.h"
#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

constexpr std::size_t kCurveColours = 10;

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

std::string number(double value) {
  return std::fabs(value) >= 1e4 ? abbreviated(value) : fmt::format("{:.4g}", value);
}

struct Range {
  double low = INFINITY;
  double high = -INFINITY;
};

Range range_of(const std::vector<std::vector<ChartPoint>>& lines, bool from_zero) {
  Range range;
  for (const auto& line : lines) {
    for (const ChartPoint& point : line) {
      range.low = std::min(range.low, point.y);
      range.high = std::max(range.high, point.y);
    }
  }
  if (from_zero) range.low = 0;
  const double margin = range.high > range.low ? 0.06 * (range.high - range.low) : 0.1;
  return {from_zero ? 0 : range.low - margin, range.high + margin};
}

void draw(Chart& chart, const CurveChart& data, std::size_t number_of_curve,
          const std::vector<ChartPoint>& points) {
  const Curve& curve = data.curves[number_of_curve];
  const bool with_means = data.with_means && number_of_curve == 0;
  const std::vector<ChartPoint> means = thinned(with_means ? running_means(points) : points);
  const std::string colour = fmt::format("c{}", number_of_curve % kCurveColours);
  if (with_means) chart.line(thinned(points), "series faint " + colour);
  chart.line(means, "series " + colour);
  const std::string name = data.curves.size() > 1 ? curve.name + ", " : "";
  for (const ChartPoint& point : means) {
    chart.value(point, fmt::format("{}step {}: {}{}", name, grouped(point.x),
                                   with_means ? "mean " : "", number(point.y)));
  }
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

std::string abbreviated(double value) {
  const double size = std::fabs(value);
  for (const auto& [scale, suffix] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (size >= scale) return fmt::format("{:.3g}{}", value / scale, suffix);
  }
  return fmt::format("{:.3g}", value);
}

std::string curves_html(const CurveChart& data) {
  std::vector<std::vector<ChartPoint>> lines;
  std::string summary;
  double last = 0;
  bool has_curve = false;
  std::vector<std::pair<std::string, std::string>> legend;
  for (std::size_t i = 0; i < data.curves.size(); ++i) {
    lines.push_back(finite_points(data.curves[i].points));
    if (lines[i].empty()) continue;
    has_curve = has_curve || lines[i].size() > 1;
    last = std::max(last, lines[i].back().x);
    summary += fmt::format("; {}: {} at step {:.0f}, {} at step {:.0f}", data.curves[i].name,
                           number(lines[i].front().y), lines[i].front().x,
                           number(lines[i].back().y), lines[i].back().x);
    legend.emplace_back(fmt::format("series c{}", i % kCurveColours), data.curves[i].name);
  }
  if (!has_curve) return "";
  const Range range = range_of(lines, data.from_zero);
  Chart chart(fmt::format("{} by step{}", data.quantity, summary), {0, last, "step"},
              {range.low, range.high, data.quantity});
  for (const double step : round_numbers(0, last, 5)) chart.tick_x(step, abbreviated(step));
  for (const double value : round_numbers(range.low, range.high, 8)) {
    chart.tick_y(value, number(value));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) draw(chart, data, i, lines[i]);
  return fmt::format("<div class=\"card\">{}{}</div>", chart.html(data.style),
                     legend.size() > 1 ? legend_html(legend) : "");
}

}  // namespace causeway::report
