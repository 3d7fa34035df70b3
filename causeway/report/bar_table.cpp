#include "causeway/report/bar_table.h"

#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::report {

std::string bar_table(std::string_view names, std::string_view values,
                      const std::vector<NamedBar>& bars) {
  double most = 0;
  for (const NamedBar& bar : bars) {
    for (const double value : {bar.value, bar.second}) {
      if (std::isfinite(value)) most = std::max(most, value);
    }
  }
  const auto drawn = [&](double value, std::string_view kind) {
    if (!(value > 0)) return fmt::format("<i class=\"{}\" style=\"width: 0\"></i>", kind);
    return fmt::format("<i class=\"{}\" style=\"width: {:.1f}%\"></i>", kind, 100 * value / most);
  };
  std::string rows;
  for (const NamedBar& bar : bars) {
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"bar-cell\" aria-hidden=\"true\">{}{}</td>"
        "<td>{}</td></tr>\n",
        escaped(bar.name), drawn(bar.value, "first"),
        std::isnan(bar.second) ? "" : drawn(bar.second, "second"), escaped(bar.text));
  }
  return fmt::format(
      "<table class=\"bars\"><thead><tr><th scope=\"col\">{}</th><td></td><th scope=\"col\">{}</th>"
      "</tr></thead><tbody>\n{}</tbody></table>",
      escaped(names), escaped(values), rows);
}

}  // namespace causeway::report
