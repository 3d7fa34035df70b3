#include "causeway/report/tokenizer_page.h"

#include "causeway/report/bar_table.h"
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
    chart.value({(column.edges[b] + column.edges[b + 1]) / 2, bars.back().height},
                fmt::format("{:.6g} to {:.6g}: {} values", column.edges[b], column.edges[b + 1],
                            column.bin_counts[b]));
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

constexpr const char* kAtFit = "at fit";
constexpr const char* kNew = "in the new data";

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
  std::vector<ChartPoint> line;
  for (std::size_t i = 0; i < n; ++i) {
    const auto left = static_cast<double>(i);
    std::string text = i < column.token_names.size()
                           ? fmt::format("token {}, {}: ", i, column.token_names[i])
                           : fmt::format("token {}: ", i);
    if (i < before.size()) {
      bars.push_back({left, left + 0.9, before[i]});
      text += fmt::format("{:.3g}% {}", 100 * before[i], kAtFit);
    }
    if (i < now.size()) {
      line.push_back({left, now[i]});
      line.push_back({left + 1, now[i]});
      text += fmt::format("{}{:.3g}% {}", i < before.size() ? ", " : "", 100 * now[i], kNew);
    }
    chart.value({left + 0.5, i < before.size() ? before[i] : now[i]}, text);
  }
  chart.bars(bars);
  chart.line(line, "second");
  for (const double token : round_numbers(0, static_cast<double>(n), 5)) {
    chart.tick_x(token, fmt::format("{:.0f}", token));
  }
  chart.tick_y(top, fmt::format("{:.3g}%", 100 * top));
  std::vector<std::pair<std::string, std::string>> legend;
  if (!before.empty()) legend.emplace_back("key-bars", kAtFit);
  if (!now.empty()) legend.emplace_back("key-line", kNew);
  return fmt::format("<figure>{}{}<figcaption>Tokens</figcaption></figure>\n",
                     chart.html("plot low"), legend_html(legend));
}

// One bar per category, the most frequent first; those after the first twenty in one.
std::string category_table(const TokenColumn& column) {
  constexpr std::size_t kMost = 20;
  std::vector<double> before = shares_of(column.counts);
  std::vector<double> now = shares_of(column.new_counts);
  const bool compares = !now.empty();
  const std::size_t n = column.token_names.size();
  before.resize(n, 0);
  now.resize(n, 0);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::max(before[a], now[a]) > std::max(before[b], now[b]);
  });
  const auto bar = [&](const std::string& name, double share, double new_share) {
    NamedBar made{name, share, fmt::format("{:.3g}%", 100 * share)};
    if (compares) {
      made.second = new_share;
      made.text += fmt::format(" → {:.3g}%", 100 * new_share);
    }
    return made;
  };
  std::vector<NamedBar> bars;
  double rest = 0;
  double new_rest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order[k];
    if (k < kMost) {
      bars.push_back(bar(column.token_names[i], before[i], now[i]));
    } else {
      rest += before[i];
      new_rest += now[i];
    }
  }
  if (n > kMost) bars.push_back(bar(fmt::format("{} others", n - kMost), rest, new_rest));
  std::vector<std::pair<std::string, std::string>> legend{{"key-bars", kAtFit}};
  if (compares) legend.emplace_back("key-line", kNew);
  return fmt::format("<figure>{}{}</figure>\n", bar_table("category", "rows", bars),
                     legend_html(legend));
}

// What the index of two samples without drift rarely exceeds: times (1/n + 1/m) it has about a
// chi-squared distribution, with as many degrees of freedom as tokens occur, less one.
double index_by_chance(const TokenColumn& column) {
  double n_tokens = 0;
  for (std::size_t i = 0; i < std::min(column.counts.size(), column.new_counts.size()); ++i) {
    n_tokens += column.counts[i] > 0 || column.new_counts[i] > 0 ? 1 : 0;
  }
  const auto total = [](const std::vector<std::int64_t>& counts) {
    return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  };
  const double freedom = std::max(1.0, n_tokens - 1);
  return (freedom + 3 * std::sqrt(2 * freedom)) *
         (1 / total(column.counts) + 1 / total(column.new_counts));
}

std::string_view style_of(DriftVerdict::Severity severity) {
  switch (severity) {
    case DriftVerdict::Severity::large: return "verdict large";
    case DriftVerdict::Severity::moderate: return "verdict moderate";
    case DriftVerdict::Severity::none: return "verdict";
    case DriftVerdict::Severity::unknown: return "verdict unknown";
  }
  return "verdict";
}

// The verdicts of all columns, with links to their sections.
std::string overview(const std::vector<TokenColumn>& columns) {
  std::string rows;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const DriftVerdict verdict = drift_verdict(columns[i]);
    rows += fmt::format(
        "<tr><th scope=\"row\"><a href=\"#column-{}\">{}</a></th><td><span "
        "class=\"{}\">{}</span></td>"
        "</tr>\n",
        i, escaped(columns[i].name), style_of(verdict.severity), escaped(verdict.text));
  }
  return fmt::format("<div class=\"card scores\"><table><tbody>\n{}</tbody></table></div>", rows);
}

}  // namespace

DriftVerdict drift_verdict(const TokenColumn& column) {
  constexpr double kModerate = 0.1;
  constexpr double kLarge = 0.25;
  const double index = column.stability_index;
  if (std::isnan(index)) return {DriftVerdict::Severity::unknown, "drift unknown: no counts"};
  const double chance = index_by_chance(column);
  const std::string value = fmt::format("PSI {:.2g}", index);
  if (index <= std::max(chance, kModerate)) {
    return {DriftVerdict::Severity::none,
            chance > kModerate
                ? fmt::format("no drift: {}, below {:.2g}, which so few rows reach by chance",
                              value, chance)
                : fmt::format("no drift: {}, below {}", value, kModerate)};
  }
  if (index <= kLarge) {
    return {DriftVerdict::Severity::moderate,
            fmt::format("moderate drift: {}, above {:.2g}", value, std::max(chance, kModerate))};
  }
  return {DriftVerdict::Severity::large,
          fmt::format("large drift: {}, above {:.2g}", value, std::max(chance, kLarge))};
}

std::string tokenizer_html(const std::string& title, const std::string& lead,
                           std::vector<TokenColumn> columns) {
  const auto severity = [](const TokenColumn& column) {
    const bool is_known = !std::isnan(column.stability_index);
    return std::pair(drift_verdict(column).severity, is_known ? column.stability_index : -1);
  };
  std::stable_sort(columns.begin(), columns.end(), [&](const TokenColumn& a, const TokenColumn& b) {
    return severity(a) > severity(b);
  });
  const bool compares = std::any_of(columns.begin(), columns.end(), [](const TokenColumn& column) {
    return !column.new_counts.empty();
  });
  std::string body;
  if (compares) {
    body += section_html(
        "drift", "Drift",
        "How much the tokens of the new data differ from those at fit, by the population stability "
        "index (PSI), the columns that differ most first. Above 0.1 is moderate, above 0.25 large.",
        overview(columns));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TokenColumn& column = columns[i];
    std::string drift;
    if (compares) {
      const DriftVerdict verdict = drift_verdict(column);
      drift = fmt::format("<p><span class=\"{}\">{}</span> {}</p>\n", style_of(verdict.severity),
                          escaped(verdict.text), escaped(column.drift));
    }
    body +=
        section_html(fmt::format("column-{}", i), column.name, column.about,
                     drift + histogram(column) +
                         (column.has_categories ? category_table(column) : token_chart(column)));
  }
  return page_html({title, lead, "", body});
}

}  // namespace causeway::report
