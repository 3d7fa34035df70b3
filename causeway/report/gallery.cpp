#include "causeway/report/gallery.h"

#include "causeway/report/drawing.h"
#include "causeway/report/telling_columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::report {

namespace {

constexpr std::size_t kMarginals = 9;  // besides the target's

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #f5f4f0; --card: #ffffff; --ink: #1d2129; --soft: #667080;
  --line: #dddad2; --plot: #fbfaf7; --accent: #2f5fd0; --target: #e0523d; --edge: #9aa3b2; }
@media (prefers-color-scheme: dark) { :root { --page: #12151b; --card: #1b2029; --ink: #e7eaf0;
  --soft: #98a2b3; --line: #2d3441; --plot: #151a22; --accent: #7ea2ff; --target: #ff7b66;
  --edge: #5d687a; } .c0 { stroke: #7ea2ff !important; } .f0 { fill: #7ea2ff !important; }
  .c7 { stroke: #c08a66 !important; } .f7 { fill: #c08a66 !important; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
header { max-width: 1500px; margin: 0 auto; padding: 36px 28px 8px; }
h1 { margin: 0 0 4px; font-size: 27px; font-weight: 650; letter-spacing: -0.015em; }
header p { margin: 0; color: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 20px; margin-top: 12px; color: var(--soft);
  font-size: 13px; }
.legend span { display: inline-flex; align-items: center; gap: 7px; }
.legend svg { width: 14px; height: 14px; }
main { max-width: 1500px; margin: 0 auto; padding: 20px 28px 48px; display: grid; gap: 22px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
article { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 16px 16px 14px; display: flex; flex-direction: column; gap: 12px; min-width: 0; }
h2 { margin: 0; font-size: 16px; font-weight: 620; }
.pictures { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
svg { display: block; width: 100%; height: auto; }
.frame { fill: var(--plot); stroke: var(--line); }
.axis { fill: var(--ink); font-size: 14px; paint-order: stroke; stroke: var(--plot); stroke-width: 5;
  stroke-linejoin: round; }
.dot { fill: none; stroke-width: 4.2; stroke-linecap: round; stroke-opacity: 0.7; }
.curve { fill: none; stroke: var(--target); stroke-width: 2.2; stroke-linejoin: round; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.2; stroke-opacity: 0.85; }
.edge.indirect { stroke-width: 0.8; stroke-opacity: 0.22; }
.node { fill: var(--card); stroke: var(--edge); stroke-width: 1.4; }
.node.feature { fill: var(--accent); stroke: var(--card); }
.node.target { fill: var(--target); stroke: var(--card); }
.core { fill: var(--card); pointer-events: none; }
.bar { fill: var(--accent); fill-opacity: 0.8; }
.rule { stroke: var(--line); fill: none; }
.marginals { display: grid; grid-template-columns: repeat(5, 1fr); gap: 8px 12px; }
.marginals figure { margin: 0; min-width: 0; }
.marginals figcaption { font-size: 11px; color: var(--soft); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; }
dl { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0; font-size: 13px; }
dl div { display: flex; gap: 6px; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; }
code { display: block; margin-top: auto; padding: 8px 10px; border-radius: 6px; font-size: 11.5px;
  background: var(--plot); border: 1px solid var(--line); color: var(--soft); overflow-wrap: anywhere;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; user-select: all; }
code span { display: inline-block; max-width: 100%; }
header code { display: inline-block; margin-top: 10px; }
)";

// Told apart by eye on light and on dark.
constexpr const char* kColours[] = {"#4269d0", "#ff725c", "#3ca951", "#efb118", "#a463f2",
                                    "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0"};

std::string colour_rules() {
  std::string rules;
  int i = 0;
  for (const char* colour : kColours) {
    rules += fmt::format(".c{} {{ stroke: {}; }} .f{} {{ fill: {}; fill-opacity: 1; }}\n", i,
                         colour, i, colour);
    ++i;
  }
  return rules;
}

std::string legend() {
  const auto item = [](const char* kind, const char* words) {
    return fmt::format(
        "<span><svg viewBox=\"0 0 14 14\"><circle class=\"{}\" cx=\"7\" cy=\"7\" r=\"5.5\"/></svg>"
        "{}</span>",
        kind, words);
  };
  return fmt::format(
      "<div class=\"legend\">{}{}{}<span>causes stand above effects; point at a node "
      "for its mechanism</span></div>",
      item("node feature", "columns are read here"), item("node target", "the target is read here"),
      item("node", "not observed"));
}

std::string figure(const std::string& name, const std::string& picture) {
  return fmt::format("<figure>{}<figcaption title=\"{}\">{}</figcaption></figure>", picture,
                     escaped(name), escaped(name));
}

std::string marginals(const GalleryDataset& dataset, const std::vector<int>& order) {
  std::string text = figure(dataset.n_classes > 0 ? "y · classes" : "y · number",
                            draw_histogram(dataset.target, dataset.n_classes));
  for (std::size_t i = 0; i < std::min(order.size(), kMarginals); ++i) {
    const GalleryColumn& column = dataset.features[static_cast<std::size_t>(order[i])];
    text +=
        figure(fmt::format("{} · {}", column.name, column.kind), draw_histogram(column.values, 0));
  }
  return fmt::format("<div class=\"marginals\">{}</div>", text);
}

// Broken between options only.
std::string command_html(const std::string& command) {
  std::string html = "<code><span>";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t next = std::min(command.find(" --", at + 1), command.size());
    html += escaped(command.substr(at, next - at));
    if (next < command.size()) html += "</span> <span>";
    at = next + (next < command.size() ? 1 : 0);
  }
  return html + "</span></code>";
}

std::string card(const GalleryDataset& dataset) {
  const std::vector<int> order = telling_columns(dataset);
  std::string scatter;
  if (dataset.n_classes == 0) {
    scatter = order.empty() ? "" : draw_curve(dataset, order[0]);
  } else if (!order.empty()) {
    scatter = draw_classes(dataset, order[0], order.size() > 1 ? order[1] : -1);
  }
  std::string facts;
  for (const auto& [name, value] : dataset.facts) {
    facts += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
  }
  return fmt::format(
      "<article>\n<h2>{}</h2>\n<div class=\"pictures\">{}{}</div>\n{}\n<dl>{}</dl>\n"
      "{}\n</article>\n",
      escaped(dataset.title), scatter, draw_graph(dataset.nodes), marginals(dataset, order), facts,
      command_html(dataset.command));
}

}  // namespace

std::string gallery_html(const GalleryPage& page) {
  std::string cards;
  for (const GalleryDataset& dataset : page.datasets) cards += card(dataset);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n"
      "<p>{3}</p>\n{6}\n{4}\n</header>\n<main>\n{5}</main>\n</body>\n</html>\n",
      escaped(page.title), kStyle, colour_rules(), escaped(page.about), legend(), cards,
      command_html(page.command));
}

}  // namespace causeway::report
