// Horizontal bars with names and values as a table, which is readable at any width and by screen
// readers.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::report {

struct NamedBar {
  std::string name;
  double value = 0;     // 0 or less: no bar
  std::string text;     // the value as shown
  double second = NAN;  // of a second, thinner bar; NaN: none
};

// `names` and `values` are the column titles. The longest bar has the full width.
std::string bar_table(std::string_view names, std::string_view values,
                      const std::vector<NamedBar>& bars);

}  // namespace causeway::report
