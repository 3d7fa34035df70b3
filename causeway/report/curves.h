// A chart of one quantity by step, for one or several runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace causeway::report {

using Series = std::vector<std::pair<double, double>>;  // step and value; NaN: no value

struct Curve {
  std::string name;
  Series points;
};

struct CurveChart {
  std::string quantity;  // title of the y axis, such as "training loss"
  std::vector<Curve> curves;
  bool from_zero = false;      // whether the y axis begins at 0
  bool with_means = false;     // of the first curve: draws running means, and the values faintly
  const char* style = "plot";  // of Chart::html
};

// A card with the chart, and a legend for several curves; empty if no curve has two values.
std::string curves_html(const CurveChart& chart);

// "1,234,567"
std::string grouped(double value);
// Three digits and a suffix: "12.3M".
std::string abbreviated(double value);

}  // namespace causeway::report
