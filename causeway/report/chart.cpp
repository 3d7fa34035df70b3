#include "causeway/report/chart.h"

#include "causeway/report/html.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace causeway::report {

std::string values_attribute(std::vector<ShownValue> values) {
  if (values.empty()) return "";
  std::stable_sort(values.begin(), values.end(),
                   [](const ShownValue& a, const ShownValue& b) { return a.left < b.left; });
  std::string list;
  for (const ShownValue& value : values) {
    const auto text =
        nlohmann::json(value.text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    list +=
        fmt::format("{}[{:.2f},{:.2f},{}]", list.empty() ? "" : ",", value.left, value.top, text);
  }
  return fmt::format(" data-values=\"[{}]\"", escaped(list));
}

Chart::Chart(std::string label, Axis x, Axis y)
    : label_(std::move(label)), x_(std::move(x)), y_(std::move(y)) {
  if (!(x_.high > x_.low)) x_.high = x_.low + 1;
  if (!(y_.high > y_.low)) y_.high = y_.low + 1;
}

ChartPoint Chart::place(double x, double y) const {
  return {100 * (x - x_.low) / (x_.high - x_.low), 100 * (1 - (y - y_.low) / (y_.high - y_.low))};
}

void Chart::line(const std::vector<ChartPoint>& points, std::string_view style) {
  std::string path;
  for (const ChartPoint& point : points) {
    const ChartPoint at = place(point.x, point.y);
    if (!std::isfinite(at.x) || !std::isfinite(at.y)) continue;
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", at.x, at.y);
  }
  if (!path.empty()) marks_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", style, path);
}

void Chart::area(const std::vector<ChartPoint>& low, const std::vector<ChartPoint>& high,
                 std::string_view colour, std::string_view tooltip) {
  std::string path;
  const auto add = [&](const ChartPoint& point) {
    const ChartPoint at = place(point.x, point.y);
    path += fmt::format("{}{:.2f} {:.2f}", path.empty() ? "M" : "L", at.x, at.y);
  };
  for (const ChartPoint& point : high) add(point);
  for (auto point = low.rbegin(); point != low.rend(); ++point) add(*point);
  if (path.empty()) return;
  marks_ += fmt::format("<path style=\"fill: {}; stroke: none\" d=\"{}Z\"><title>{}</title></path>",
                        colour, path, escaped(tooltip));
}

// A line of length 0 with round caps is a circle, even if the SVG is stretched.
void Chart::dot(ChartPoint point, double size, std::string_view text) {
  const ChartPoint at = place(point.x, point.y);
  if (!std::isfinite(at.x) || !std::isfinite(at.y)) return;
  marks_ += fmt::format("<path class=\"dot\" stroke-width=\"{:.1f}\" d=\"M{:.2f} {:.2f}h0\"/>",
                        size, at.x, at.y);
  value(point, text);
}

void Chart::bar(double low, double high, double height, std::string_view text) {
  const ChartPoint top = place(low, height);
  const ChartPoint bottom = place(high, y_.low);
  marks_ += fmt::format("<path class=\"bar\" d=\"M{0:.2f} {3:.2f}V{1:.2f}H{2:.2f}V{3:.2f}\"/>",
                        top.x, top.y, bottom.x, bottom.y);
  value({(low + high) / 2, height}, text);
}

void Chart::value(ChartPoint point, std::string_view text) {
  const ChartPoint at = place(point.x, point.y);
  if (!std::isfinite(at.x) || !std::isfinite(at.y)) return;
  values_.push_back({at.x, at.y, std::string(text)});
}

void Chart::bars(const std::vector<Bar>& bars) {
  std::string path;
  for (const Bar& each : bars) {
    const ChartPoint top = place(each.low, each.height);
    const ChartPoint bottom = place(each.high, y_.low);
    path +=
        fmt::format("M{0:.2f} {3:.2f}V{1:.2f}H{2:.2f}V{3:.2f}", top.x, top.y, bottom.x, bottom.y);
  }
  if (!path.empty()) marks_ += fmt::format("<path class=\"bars\" d=\"{}\"/>", path);
}

void Chart::tick_x(double at, std::string_view text) {
  ticks_ += fmt::format("<span class=\"tick-x\" style=\"left:{:.2f}%\">{}</span>",
                        place(at, y_.low).x, escaped(text));
}

void Chart::tick_y(double at, std::string_view text) {
  const double down = place(x_.low, at).y;
  ticks_ +=
      fmt::format("<span class=\"tick-y\" style=\"top:{:.2f}%\">{}</span>", down, escaped(text));
  marks_ += fmt::format("<path class=\"rule\" d=\"M0 {:.2f}H100\"/>", down);
}

std::string Chart::html(std::string_view style) const {
  return fmt::format(
      "<div class=\"{}\" role=\"img\" aria-label=\"{}\"{}><svg viewBox=\"0 0 100 100\" "
      "preserveAspectRatio=\"none\">{}</svg>{}<span class=\"title-x\">{}</span>"
      "<span class=\"title-y\">{}</span></div>",
      style, escaped(label_), values_attribute(values_), marks_, ticks_, escaped(x_.title),
      escaped(y_.title));
}

std::string legend_html(const std::vector<std::pair<std::string, std::string>>& styles_and_names) {
  std::string items;
  for (const auto& [style, name] : styles_and_names) {
    items += fmt::format(
        "<span><svg class=\"plot-key\" viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path "
        "class=\"{}\" "
        "d=\"M0 7H14\"/></svg>{}</span>",
        style, escaped(name));
  }
  return fmt::format("<div class=\"legend\">{}</div>", items);
}

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points) {
  constexpr std::size_t kPieces = 200;
  if (points.size() <= 2 * kPieces) return points;
  std::vector<ChartPoint> kept;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    const auto begin =
        points.begin() + static_cast<std::ptrdiff_t>(piece * points.size() / kPieces);
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>((piece + 1) * points.size() / kPieces);
    auto [low, high] = std::minmax_element(
        begin, end, [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
    if (piece == 0) low = begin;
    if (piece + 1 == kPieces) high = end - 1;
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (high != low) kept.push_back(*high);
  }
  return kept;
}

std::vector<double> round_numbers(double low, double high, int most) {
  std::vector<double> numbers;
  if (!(high > low) || !std::isfinite(high - low)) return numbers;
  const double least = (high - low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  double step = power * 10;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (power * factor >= least) step = power * factor;
  }
  for (double k = std::ceil(low / step); k <= std::floor(high / step); ++k) {
    numbers.push_back(k * step);
  }
  return numbers;
}

}  // namespace causeway::report
