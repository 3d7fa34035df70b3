#include "causeway/report/drawing.h"

#include "causeway/report/informative_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

namespace causeway::report {

namespace {

constexpr double kWidth = 300;
constexpr double kHeight = 220;
constexpr double kMargin = 12;
constexpr std::size_t kMostPoints = 700;
constexpr int kClassColours = 10;

// Maps values to coordinates; outliers are drawn at the edge.
struct Axis {
  double low, high;   // values
  double from, to;    // coordinates
  double jitter = 0;  // for repeated values, in coordinates
  static Axis of(const std::vector<float>& values, double from, double to) {
    const std::vector<float> cuts = quantiles(values, 100);
    Axis axis{cuts[1], cuts[99], from, to};
    std::set<float> distinct(values.begin(), values.end());
    std::erase_if(distinct, [](float v) { return v != v; });
    if (distinct.size() <= 20 && !distinct.empty()) {
      axis.low = *distinct.begin();
      axis.high = *distinct.rbegin();
      axis.jitter = 0.35 * std::abs(to - from) / static_cast<double>(distinct.size() + 1);
      // Space for jitter at the ends.
      axis.from += std::copysign(axis.jitter, to - from);
      axis.to -= std::copysign(axis.jitter, to - from);
    }
    return axis;
  }
  double at(double value, std::uint32_t chance) const {
    const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
    const double shift = (static_cast<double>(chance % 1024) / 511.5 - 1.0) * jitter;
    return from + share * (to - from) + shift;
  }
};

// A hash of the row: reproducible jitter.
std::uint32_t row_hash(std::size_t row, std::uint32_t salt) {
  auto bits = static_cast<std::uint32_t>(row) * 2654435761u + salt * 0x9E3779B9u;
  bits ^= bits >> 15;
  bits *= 0x2C1B3C6Du;
  return bits >> 12;
}

std::string frame() {
  return fmt::format(
      "<rect class=\"frame\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>", kWidth - 1,
      kHeight - 1);
}

std::string axis_names(const std::string& x_name, const std::string& y_name) {
  return fmt::format(
      "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
      "<text class=\"axis\" x=\"7\" y=\"18\">{}</text>",
      kWidth - 7, kHeight - 8, escaped(x_name), escaped(y_name));
}

std::string svg(double width, double height, const std::string& name, const std::string& inside) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{}</svg>", width,
                     height, escaped(name), inside);
}

// Dots of one colour as one path: a line of length 0 with round caps is a dot.
std::string dots(const std::string& path, int colour) {
  if (path.empty()) return "";
  return fmt::format("<path class=\"dot c{}\" d=\"{}\"/>", colour % kClassColours, path);
}

std::size_t step_of(std::size_t n_rows) { return (n_rows + kMostPoints - 1) / kMostPoints; }

}  // namespace

std::string draw_classes(const GalleryDataset& dataset, int a, int b) {
  const std::size_t n_rows = dataset.target.size();
  const GalleryColumn& first = dataset.features[static_cast<std::size_t>(a)];
  const std::vector<float> none(n_rows, 0.0f);
  const std::vector<float>& second =
      b >= 0 ? dataset.features[static_cast<std::size_t>(b)].values : none;
  const Axis x = Axis::of(first.values, kMargin, kWidth - kMargin);
  const Axis y = Axis::of(second, kHeight - kMargin, kMargin);
  std::map<int, std::string> paths;
  for (std::size_t row = 0; row < n_rows; row += std::max<std::size_t>(step_of(n_rows), 1)) {
    const float value = first.values[row];
    const float other = second[row];
    if (value != value || other != other) continue;
    paths[static_cast<int>(dataset.target[row])] += fmt::format(
        "M{:.1f} {:.1f}h0", x.at(value, row_hash(row, 1)), y.at(other, row_hash(row, 2)));
  }
  std::string inside = frame();
  for (const auto& [label, path] : paths) inside += dots(path, label);
  inside += axis_names(first.name, b >= 0 ? dataset.features[static_cast<std::size_t>(b)].name
                                          : std::string("random jitter"));
  return svg(kWidth, kHeight, "rows by class", inside);
}

std::string draw_curve(const GalleryDataset& dataset, int a) {
  const GalleryColumn& column = dataset.features[static_cast<std::size_t>(a)];
  const std::size_t n_rows = dataset.target.size();
  const Axis x = Axis::of(column.values, kMargin, kWidth - kMargin);
  const Axis y = Axis::of(dataset.target, kHeight - kMargin, kMargin);
  std::string path;
  for (std::size_t row = 0; row < n_rows; row += std::max<std::size_t>(step_of(n_rows), 1)) {
    if (column.values[row] != column.values[row]) continue;
    path += fmt::format("M{:.1f} {:.1f}h0", x.at(column.values[row], row_hash(row, 1)),
                        y.at(dataset.target[row], row_hash(row, 2)));
  }
  // Means over 16 groups of rows.
  constexpr int kPieces = 16;
  const std::vector<float> cuts = quantiles(column.values, kPieces);
  std::string curve;
  for (int piece = 0; piece < kPieces; ++piece) {
    double at = 0;
    double sum = 0;
    int count = 0;
    for (std::size_t row = 0; row < n_rows; ++row) {
      const float value = column.values[row];
      const bool is_last = piece == kPieces - 1;
      const float low = cuts[static_cast<std::size_t>(piece)];
      const float high = cuts[static_cast<std::size_t>(piece) + 1];
      if (!(value >= low && (is_last ? value <= high : value < high))) continue;
      at += value;
      sum += dataset.target[row];
      ++count;
    }
    if (count == 0) continue;
    curve += fmt::format("{}{:.1f} {:.1f}", curve.empty() ? "M" : "L", x.at(at / count, 512),
                         y.at(sum / count, 512));
  }
  std::string inside = frame() + dots(path, 0);
  if (!curve.empty()) inside += fmt::format("<path class=\"curve\" d=\"{}\"/>", curve);
  inside += axis_names(column.name, "y");
  return svg(kWidth, kHeight, "target over " + column.name, inside);
}

std::string draw_histogram(const std::vector<float>& values, int n_classes) {
  constexpr double kBarsWidth = 60;
  constexpr double kBarsHeight = 32;
  const int n_bars = n_classes > 0 ? n_classes : 14;
  std::vector<float> cuts = quantiles(values, 200);
  const double low = cuts[1];
  const double high = cuts[199];
  std::vector<double> counts(static_cast<std::size_t>(n_bars));
  for (const float value : values) {
    if (value != value) continue;
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    const int bar =
        n_classes > 0 ? static_cast<int>(value) : static_cast<int>(std::floor(share * n_bars));
    counts[static_cast<std::size_t>(std::clamp(bar, 0, n_bars - 1))] += 1;
  }
  const double most = std::max(*std::max_element(counts.begin(), counts.end()), 1.0);
  const double width = kBarsWidth / n_bars;
  std::string inside;
  for (int bar = 0; bar < n_bars; ++bar) {
    const double height = counts[static_cast<std::size_t>(bar)] / most * (kBarsHeight - 2);
    if (height <= 0) continue;
    inside += fmt::format(
        "<rect class=\"bar{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
        n_classes > 0 ? fmt::format(" f{}", bar % kClassColours) : "", bar * width,
        kBarsHeight - std::max(height, 0.7), std::max(width - 0.8, 0.4), std::max(height, 0.7));
  }
  inside += fmt::format("<path class=\"rule\" d=\"M0 {}H{}\"/>", kBarsHeight, kBarsWidth);
  return svg(kBarsWidth, kBarsHeight + 1, "marginal", inside);
}

}  // namespace causeway::report
