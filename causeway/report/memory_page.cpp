#include "causeway/report/memory_page.h"

#include "causeway/core/environment.h"
#include "causeway/report/chart.h"
#include "causeway/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace causeway::report {

namespace {

// Twelve hues that stay apart in both style sheets; further names repeat them.
constexpr int kHues = 12;

std::string colour(std::size_t name) {
  return fmt::format("hsl({} 60% {}%)", (name % kHues) * 360 / kHues, name % 2 == 0 ? 52 : 66);
}

std::size_t bytes_at(const MemoryChart::Moment& moment, std::size_t name) {
  return name < moment.bytes.size() ? moment.bytes[name] : 0;
}

std::size_t total(const MemoryChart::Moment& moment) {
  return std::accumulate(moment.bytes.begin(), moment.bytes.end(), std::size_t{0});
}

// At most `most` moments: of each piece of time the one with the largest total.
std::vector<MemoryChart::Moment> thinned(const std::vector<MemoryChart::Moment>& all,
                                         std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<MemoryChart::Moment> kept;
  for (std::size_t piece = 0; piece < most; ++piece) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(piece * all.size() / most);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>((piece + 1) * all.size() / most);
    kept.push_back(*std::max_element(
        begin, end, [](const auto& a, const auto& b) { return total(a) < total(b); }));
  }
  return kept;
}

std::string chart_html(const MemoryChart& memory, const std::vector<std::size_t>& order,
                       std::size_t peak) {
  const std::vector<MemoryChart::Moment> moments = thinned(memory.moments, 800);
  constexpr double kMiB = 1 << 20;
  Chart chart("memory of " + memory.pool + " over time",
              {moments.front().ms, moments.back().ms, "ms"},
              {0, 1.05 * static_cast<double>(peak) / kMiB, "MiB"});
  std::vector<double> below(moments.size(), 0);
  for (const std::size_t name : order) {
    std::vector<ChartPoint> low;
    std::vector<ChartPoint> high;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const double end = i + 1 < moments.size() ? moments[i + 1].ms : moments[i].ms;
      const double top = below[i] + static_cast<double>(bytes_at(moments[i], name)) / kMiB;
      for (const double ms : {moments[i].ms, end}) {
        low.push_back({ms, below[i]});
        high.push_back({ms, top});
      }
      below[i] = top;
    }
    chart.area(low, high, colour(name), memory.names[name]);
  }
  for (std::size_t i = 0; i < moments.size(); ++i) {
    chart.value({moments[i].ms, below[i]},
                fmt::format("{:.1f} ms: {}", moments[i].ms, format_bytes(total(moments[i]))));
  }
  for (const double ms : round_numbers(moments.front().ms, moments.back().ms)) {
    chart.tick_x(ms, fmt::format("{:g}", ms));
  }
  for (const double mib : round_numbers(0, static_cast<double>(peak) / kMiB)) {
    chart.tick_y(mib, fmt::format("{:g}", mib));
  }
  return chart.html();
}

std::string section_of(const MemoryChart& memory) {
  const MemoryChart::Moment& peak =
      *std::max_element(memory.moments.begin(), memory.moments.end(),
                        [](const auto& a, const auto& b) { return total(a) < total(b); });
  std::vector<std::size_t> own_peaks(memory.names.size(), 0);
  for (const MemoryChart::Moment& moment : memory.moments) {
    for (std::size_t name = 0; name < moment.bytes.size(); ++name) {
      own_peaks[name] = std::max(own_peaks[name], moment.bytes[name]);
    }
  }
  std::vector<std::size_t> order(memory.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes_at(peak, a) > bytes_at(peak, b);
  });
  std::string rows;
  for (const std::size_t name : order) {
    rows += fmt::format(
        "<tr><th scope=\"row\"><i class=\"key\" style=\"background: {}\"></i> {}</th><td>{}</td>"
        "<td>{}</td></tr>\n",
        colour(name), escaped(memory.names[name]), format_bytes(bytes_at(peak, name)),
        format_bytes(own_peaks[name]));
  }
  const std::string content = fmt::format(
      "<figure class=\"card\">{}</figure><table><thead><tr><th>name</th><th>at the peak</th>"
      "<th>own peak</th></tr></thead><tbody>{}</tbody></table>",
      chart_html(memory, order, std::max<std::size_t>(total(peak), 1)), rows);
  return section_html(memory.pool, memory.pool,
                      fmt::format("Peak {} at {:.1f} ms.", format_bytes(total(peak)), peak.ms),
                      content);
}

}  // namespace

std::string memory_html(const std::vector<MemoryChart>& charts) {
  Page page;
  page.title = "Memory";
  page.lead = "Memory in use over time, by the name of the allocation.";
  page.style = ".key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; }\n";
  for (const MemoryChart& chart : charts) {
    if (!chart.moments.empty()) page.body += section_of(chart);
  }
  return page_html(page);
}

}  // namespace causeway::report
