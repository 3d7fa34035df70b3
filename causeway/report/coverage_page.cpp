#include "causeway/report/coverage_page.h"

#include "causeway/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::report {

namespace {

constexpr const char* kCoverageStyle = R"(
.panels { display: block; columns: 3 290px; column-gap: 18px; }
.panels figure.card { max-width: none; margin-bottom: 18px; padding: 14px 16px; break-inside: avoid; }
.counts th { white-space: nowrap; padding: 2px 10px 2px 0; font-size: 13px; }
.counts td { padding: 2px 0 2px 10px; font-size: 13px; }
.counts td:nth-child(2) { width: 100%; padding-left: 0; }
.counts i { display: block; height: 9px; min-width: 1px; border-radius: 2px; background: var(--accent);
  opacity: 0.8; }
.scroll { overflow: auto; width: fit-content; max-width: 100%; max-height: 85vh; padding: 0; }
.shaded { width: auto; font-size: 11.5px; border-spacing: 0; border-collapse: separate; }
.shaded td { padding: 2px 6px; min-width: 34px; text-align: right;
  background: color-mix(in srgb, var(--accent) calc(var(--share) * 70%), transparent); }
.shaded td:empty { background: none; }
.shaded thead th { position: sticky; top: 0; z-index: 1; height: 118px; padding: 6px 2px; background: var(--card);
  border-bottom: 1px solid var(--line); font-size: 11.5px; font-weight: 400; }
.shaded thead span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; }
.shaded tbody th, .shaded thead th:first-child { position: sticky; left: 0; padding: 2px 10px 2px 14px;
  background: var(--card); white-space: nowrap; }
.shaded thead th:first-child { z-index: 2; }
)";

std::string bars_html(const CoverageBars& bars) {
  std::int64_t most = 1;
  for (const auto& [name, count] : bars.counts) most = std::max(most, count);
  std::string rows;
  for (const auto& [name, count] : bars.counts) {
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td><i style=\"width: {:.1f}%\"></i></td><td>{}</td></tr>\n",
        escaped(name), 100.0 * static_cast<double>(count) / static_cast<double>(most), count);
  }
  return fmt::format(
      "<figure class=\"card\"><figcaption><b>{}</b></figcaption><table class=\"counts\">{}</table>"
      "</figure>\n",
      escaped(bars.title), rows);
}

std::string histogram_html(const CoverageHistogram& histogram) {
  if (histogram.counts.empty()) return "";
  const auto low = static_cast<double>(histogram.counts.front().first);
  const double high = static_cast<double>(histogram.counts.back().first) + 1;
  const double width = std::max(1.0, std::ceil((high - low) / 60));  // at most 60 bars
  std::vector<Chart::Bar> bars;
  double most = 1;
  for (const auto& [value, count] : histogram.counts) {
    const double begin = low + width * std::floor((static_cast<double>(value) - low) / width);
    if (bars.empty() || bars.back().low != begin) bars.push_back({begin, begin + width, 0});
    bars.back().height += static_cast<double>(count);
    most = std::max(most, bars.back().height);
  }
  Chart chart(histogram.title, {low, bars.back().high, histogram.axis}, {0, most, "records"});
  chart.bars(bars);
  for (const Chart::Bar& bar : bars) {
    const std::string values = width > 1 ? fmt::format("{:g} to {:g}", bar.low, bar.high - 1)
                                         : fmt::format("{:g}", bar.low);
    chart.value({(bar.low + bar.high) / 2, bar.height},
                fmt::format("{} {}: {:g} records", histogram.axis, values, bar.height));
  }
  for (const double tick : round_numbers(low, high)) chart.tick_x(tick, fmt::format("{:g}", tick));
  for (const double tick : round_numbers(0, most, 4)) chart.tick_y(tick, fmt::format("{:g}", tick));
  return fmt::format("<figure class=\"card\"><figcaption><b>{}</b></figcaption>{}</figure>\n",
                     escaped(histogram.title), chart.html("plot low"));
}

std::string table_html(const CoverageTable& table) {
  std::int64_t most = 1;
  for (const CoverageTable::Row& row : table.rows) {
    for (const std::int64_t count : row.counts) most = std::max(most, count);
  }
  std::string html =
      "<div class=\"card scroll\" tabindex=\"0\"><table class=\"shaded\"><thead><tr><th></th>";
  for (const std::string& column : table.columns)
    html += fmt::format("<th scope=\"col\"><span>{}</span></th>", escaped(column));
  html += "</tr></thead>\n<tbody>";
  for (const CoverageTable::Row& row : table.rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(row.name));
    for (const std::int64_t count : row.counts) {
      // Shades follow the logarithm: counts span four orders of magnitude.
      const double share =
          std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
      html += count == 0 ? "<td></td>"
                         : fmt::format("<td style=\"--share: {:.2f}\">{}</td>", share, count);
    }
    html += "</tr>\n";
  }
  return section_html(table.id, table.title, table.lead, html + "</tbody></table></div>");
}

}  // namespace

std::string coverage_html(const CoveragePage& page) {
  std::string panels;
  for (const CoverageHistogram& histogram : page.histograms) panels += histogram_html(histogram);
  for (const CoverageBars& bars : page.bars) panels += bars_html(bars);
  std::string body =
      section_html("counts", "Counts", "", fmt::format("<div class=\"panels\">{}</div>", panels));
  for (const CoverageTable& table : page.tables) body += table_html(table);
  Page html{page.title, page.lead, facts_html(page.facts, "large"), body};
  html.style = kCoverageStyle;
  return page_html(html);
}

}  // namespace causeway::report
