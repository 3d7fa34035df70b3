// Charts: curves in an SVG that scales with its frame, and labels as HTML text, which stay readable
// at any width. Colours come from the style sheet.
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

class Chart {
 public:
  struct Axis {
    double low = 0;
    double high = 1;
    std::string title;
  };
  // `label` describes the chart for screen readers.
  Chart(std::string label, Axis x, Axis y);

  // Values that are not finite are left out. Styles: "curve", "curve faint", "second", "reference".
  void line(const std::vector<ChartPoint>& points, std::string_view style);
  // The area between two lines with the same x, in a CSS colour.
  void area(const std::vector<ChartPoint>& low, const std::vector<ChartPoint>& high,
            std::string_view colour, std::string_view tooltip);
  // A round dot with a tooltip; its size is in pixels.
  void dot(ChartPoint at, double size, std::string_view tooltip);
  // A bar from the x axis, over [low, high].
  void bar(double low, double high, double height, std::string_view tooltip);
  // Many bars without tooltips, as one path.
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
};

// Ticks from low to high in steps of 1, 2 or 5 times a power of ten: at most `most` + 1.
std::vector<double> round_numbers(double low, double high, int most = 6);

}  // namespace causeway::report
