#include "causeway/report/tokenizer_page.h"

#include "causeway/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace causeway::report {

namespace {

std::string figure(const Chart& chart, std::string_view caption) {
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", chart.html("plot low"),
                     escaped(caption));
}

// A histogram with the tokenizer's bins; heights are densities.
std::string histogram(const TokenColumn& column) {
  if (column.edges.size() < 2 || column.bin_counts.empty()) return "";
  const double low = column.edges.front();
  const double high = column.edges.back();
  if (!(high > low) || !std::isfinite(high - low)) return "";
  std::vector<double> density;
  for (std::size_t b = 0; b < column.bin_counts.size(); ++b) {
    const double width = column.edges[b + 1] - column.edges[b];
    density.push_back(width > 0 ? static_cast<double>(column.bin_counts[b]) / width : 0);
  }
  // The densest bins of heavy-tailed columns would flatten all others.
  std::vector<double> sorted = density;
  std::sort(sorted.begin(), sorted.end());
  const double top = std::max(sorted[sorted.size() * 98 / 100], sorted.back() * 0.02);
  if (!(top > 0)) return "";
  Chart chart("histogram of " + column.name, {low, high, "value"}, {0, 1, "density"});
  std::vector<Chart::Bar> bars;
  for (std::size_t b = 0; b < density.size(); ++b) {
    bars.push_back({column.edges[b], column.edges[b + 1], std::min(1.0, density[b] / top)});
  }
  chart.bars(bars);
  for (const double value : round_numbers(low, high, 5)) {
    chart.tick_x(value, fmt::format("{:.6g}", value));
  }
  return figure(chart, "Density at fit, by bin");
}

std::vector<double> shares_of(const std::vector<std::int64_t>& counts) {
  const double all =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  std::vector<double> shares;
  for (const std::int64_t count : counts) {
    shares.push_back(all > 0 ? static_cast<double>(count) / all : 0);
  }
  return shares;
}

// Bars for the tokens at fit, and a line for new data.
std::string token_chart(const TokenColumn& column) {
  const std::vector<double> before = shares_of(column.counts);
  const std::vector<double> now = shares_of(column.new_counts);
  const std::size_t n = std::max(before.size(), now.size());
  double top = 0;
  for (const double share : before) top = std::max(top, share);
  for (const double share : now) top = std::max(top, share);
  if (n == 0 || !(top > 0)) return "";
  Chart chart("tokens of " + column.name, {0, static_cast<double>(n), "token"},
              {0, top, "fraction of rows"});
  std::vector<Chart::Bar> bars;
  for (std::size_t i = 0; i < before.size(); ++i) {
    bars.push_back({static_cast<double>(i), static_cast<double>(i) + 0.9, before[i]});
  }
  chart.bars(bars);
  std::vector<ChartPoint> line;
  for (std::size_t i = 0; i < now.size(); ++i) {
    line.push_back({static_cast<double>(i), now[i]});
    line.push_back({static_cast<double>(i + 1), now[i]});
  }
  chart.line(line, "second");
  for (const double token : round_numbers(0, static_cast<double>(n), 5)) {
    chart.tick_x(token, fmt::format("{:.0f}", token));
  }
  chart.tick_y(top, fmt::format("{:.3g}%", 100 * top));
  return figure(chart,
                now.empty() ? "Tokens at fit" : "Tokens at fit (bars) and in the new data (line)");
}

}  // namespace

std::string tokenizer_html(const std::string& title, const std::string& lead,
                           const std::vector<TokenColumn>& columns) {
  std::string body;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TokenColumn& column = columns[i];
    const std::string drift =
        column.drift.empty() ? "" : fmt::format("<p>{}</p>\n", escaped(column.drift));
    body += section_html(fmt::format("column-{}", i), column.name, column.about,
                         drift + histogram(column) + token_chart(column));
  }
  return page_html({title, lead, "", body});
}

}  // namespace causeway::report
