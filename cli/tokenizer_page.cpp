// The page of `causeway tokenizer inspect --html`: one file, no scripts, nothing fetched.
#include "cli/tokenizer_report.h"

#include "causeway/core/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace causeway::cli {

using namespace causeway::tokenizer;

namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 120;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tokenizer</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #6b7480; --line: #d5dae0; --bar: #4477aa;
  --now: #cc6677; --page: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #9aa3ad; --line: #3a4149;
  --bar: #77aadd; --now: #ee8899; --page: #15181c; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 720px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin: 2rem 0 .2rem }
p, figcaption { color: var(--soft); margin: .2rem 0 } figure { margin: .6rem 0 }
svg { width: 100%; height: auto } text { fill: var(--soft); font: 11px system-ui, sans-serif }
.bar { fill: var(--bar); opacity: .85 } .now { fill: none; stroke: var(--now); stroke-width: 1.5 }
.edge { stroke: var(--line) } .axis { stroke: var(--soft) }
</style></head><body>
)";

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

std::string begin_svg(std::string_view label) {
  return fmt::format(R"(<figure><svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth,
                     kHeight + 18, escaped(label));
}

std::string end_svg(std::string_view left, std::string_view right, std::string_view caption) {
  return fmt::format(
      "<line class=\"axis\" x1=\"0\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\"/><text x=\"0\" y=\"{2}\">{3}"
      "</text><text x=\"{0}\" y=\"{2}\" text-anchor=\"end\">{4}</text></svg><figcaption>{5}"
      "</figcaption></figure>\n",
      kWidth, kHeight, kHeight + 14, escaped(left), escaped(right), escaped(caption));
}

// Bars over the values: each bin as wide as it is, as high as its values are dense.
std::string histogram(const Column& column) {
  const Bins& bins = column.bins;
  const double low = bins.edges.front(), high = bins.edges.back();
  if (bins.counts.empty() || !(high > low) || !std::isfinite(high - low)) return "";
  std::vector<double> density;
  for (std::size_t b = 0; b < bins.counts.size(); ++b) {
    const double width = bins.edges[b + 1] - bins.edges[b];
    density.push_back(width > 0 ? static_cast<double>(bins.counts[b]) / width : 0);
  }
  // The densest bins of heavy columns would flatten all others.
  std::vector<double> sorted = density;
  std::sort(sorted.begin(), sorted.end());
  const double top = std::max(sorted[sorted.size() * 98 / 100], sorted.back() * 0.02);
  std::string svg = begin_svg("histogram of " + column.name);
  const auto place = [&](double value) { return (value - low) / (high - low) * kWidth; };
  for (std::size_t b = 0; b < density.size(); ++b) {
    const double x = place(bins.edges[b]), width = place(bins.edges[b + 1]) - x;
    const double height = top > 0 ? std::min(1.0, density[b] / top) * kHeight : 0;
    svg +=
        fmt::format(R"(<rect class="bar" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)",
                    x, kHeight - height, std::max(width, 0.2), height);
    svg += fmt::format(R"(<line class="edge" x1="{0:.2f}" x2="{0:.2f}" y1="0" y2="{1}"/>)", x,
                       kHeight);
  }
  return svg + end_svg(fmt::format("{:.6g}", low), fmt::format("{:.6g}", high),
                       "values: density in each bin, and its edges");
}

// Bars over the tokens, and a line for new data.
std::string token_counts(const Slot& slot, const std::vector<std::int64_t>* now) {
  if (slot.counts.empty() && now == nullptr) return "";
  const std::size_t n = static_cast<std::size_t>(slot.n_tokens());
  const auto share = [](const std::vector<std::int64_t>& counts, std::size_t i) {
    double all = 0;
    for (const std::int64_t count : counts) all += static_cast<double>(count);
    return all > 0 ? static_cast<double>(counts[i]) / all : 0;
  };
  double top = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!slot.counts.empty()) top = std::max(top, share(slot.counts, i));
    if (now != nullptr) top = std::max(top, share(*now, i));
  }
  if (top <= 0) return "";
  std::string svg = begin_svg("tokens of " + slot.name);
  const double width = kWidth / static_cast<double>(n);
  std::string line;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = width * static_cast<double>(i);
    if (!slot.counts.empty()) {
      const double height = share(slot.counts, i) / top * kHeight;
      svg +=
          fmt::format(R"(<rect class="bar" x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>)",
                      x, kHeight - height, std::max(width * 0.9, 0.2), height);
    }
    if (now != nullptr) {
      const double y = kHeight - share(*now, i) / top * kHeight;
      line += fmt::format("{:.2f},{:.2f} {:.2f},{:.2f} ", x, y, x + width, y);
    }
  }
  if (now != nullptr) svg += fmt::format(R"(<polyline class="now" points="{}"/>)", line);
  return svg + end_svg("first token", "last token",
                       now != nullptr ? "tokens: bars at fit, line now" : "tokens: shares at fit");
}

}  // namespace

void write_page(const std::string& path, const Tokenizer& tok,
                const std::optional<Comparison>& comparison) {
  std::string page(kHead);
  page += fmt::format("<h1>Tokenizer</h1><p>{} columns, {} token columns, tokens below {}{}</p>\n",
                      tok.columns().size(), tok.slots().size(), tok.n_tokens(),
                      tok.source.empty() ? "" : ", fitted on " + escaped(tok.source));
  for (std::size_t s = 0; s < tok.slots().size(); ++s) {
    const Slot& slot = tok.slots()[s];
    const Column& column = tok.columns()[static_cast<std::size_t>(slot.column)];
    page += fmt::format("<h2>{}</h2><p>{}, {} tokens from {}; {} of {} rows missing at fit</p>\n",
                        escaped(slot.name), to_string(column.kind), slot.n_tokens(), slot.offset,
                        column.n_missing, column.n_rows);
    if (comparison) {
      const SlotDrift& drift = comparison->drifts[s];
      page += fmt::format("<p>now: {:.2f}% missing, {:.2f}% unknown", 100 * drift.missing_rate,
                          100 * drift.unknown_rate);
      if (!std::isnan(drift.stability_index)) {
        page += fmt::format(", stability index {:.4f}", drift.stability_index);
      }
      if (!std::isnan(comparison->errors[s])) {
        page += fmt::format(", reconstruction error {:.4f} of the standard deviation",
                            comparison->errors[s]);
      }
      page += "</p>\n";
    }
    if (column.kind == ColumnKind::numeric) page += histogram(column);
    page += token_counts(slot, comparison ? &comparison->drifts[s].counts : nullptr);
  }
  page += "</body></html>\n";
  const std::array pieces{std::as_bytes(std::span(page))};
  write_file_atomically("tokenizer.inspect", path, pieces);
}

}  // namespace causeway::cli
