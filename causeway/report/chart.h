// Charts: curves in an SVG that scales with its frame, and labels as HTML text, which stay readable
// at any width. Colours come from the style sheet. Values are shown on hover, on tap and by arrow
// keys (script.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causeway::report {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

// A text shown at a place of an element, in percent of its width and height.
struct ShownValue {
  double left = 0;
  double top = 0;
  std::string text;
};
// The attribute data-values, from left to right; empty without values.
std::string values_attribute(std::vector<ShownValue> values);

class Chart {
 public:
  struct Axis {
    double low = 0;
    double high = 1;
    std::string title;
  };
  // `label` describes the chart for screen readers.
  Chart(std::string label, Axis x, Axis y);

  // Values that are not finite are left out. Styles: "curve", "curve faint", "second", "reference",
  // "series c0" to "series c9".
  void line(const std::vector<ChartPoint>& points, std::string_view style);
  // The area between two lines with the same x, in a CSS colour.
  void area(const std::vector<ChartPoint>& low, const std::vector<ChartPoint>& high,
            std::string_view colour, std::string_view tooltip);
  // A round dot with a text to show; its size is in pixels.
  void dot(ChartPoint at, double size, std::string_view text);
  // A bar from the x axis, over [low, high], with a text to show.
  void bar(double low, double high, double height, std::string_view text);
  // A text to show at a point, such as one of a line.
  void value(ChartPoint at, std::string_view text);
  // Many bars without texts, as one path.
  struct Bar {
    double low = 0;
    double high = 0;
    double height = 0;
  };
  void bars(const std::vector<Bar>& bars);
  void tick_x(double at, std::string_view text);
  void tick_y(double at, std::string_view text);

  // `style` is "plot", "plot square", "plot strip" or "plot low".
  std::string html(std::string_view style = "plot") const;

 private:
  // SVG coordinates: 100 by 100, from the upper left corner.
  ChartPoint place(double x, double y) const;

  std::string label_;
  Axis x_;
  Axis y_;
  std::string marks_;
  std::string ticks_;
  std::vector<ShownValue> values_;
};

// The names of curves or bars, each with the colour of a style of Chart::line or Chart::bars.
std::string legend_html(const std::vector<std::pair<std::string, std::string>>& styles_and_names);

// At most 400 points, with the first, the last and the extremes of each piece.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points);

// Ticks from low to high in steps of 1, 2 or 5 times a power of ten: at most `most` + 1.
std::vector<double> round_numbers(double low, double high, int most = 6);

}  // namespace causeway::report
