#include "causeway/report/style.h"

#include <fmt/format.h>

namespace causeway::report {

namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #f5f4f0; --card: #ffffff; --ink: #1d2129; --soft: #5f6878;
  --line: #dddad2; --plot: #fbfaf7; --accent: #2f5fd0; --target: #d8452f; --edge: #9aa3b2;
  --mark: #e6edfc; }
@media (prefers-color-scheme: dark) { :root { --page: #12151b; --card: #1b2029; --ink: #e7eaf0;
  --soft: #98a2b3; --line: #2d3441; --plot: #151a22; --accent: #7ea2ff; --target: #ff7b66;
  --edge: #5d687a; --mark: #24304d; } .c0 { stroke: #7ea2ff !important; }
  .f0 { fill: #7ea2ff !important; } .c7 { stroke: #c08a66 !important; }
  .f7 { fill: #c08a66 !important; } }
* { box-sizing: border-box; }
body { position: relative; margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
header, section { max-width: 1080px; margin: 0 auto; padding: 0 20px; }
header { padding-top: clamp(32px, 5vw, 56px); }
section { padding-top: clamp(36px, 5vw, 52px); }
main { padding-bottom: 56px; }
h1 { margin: 0 0 10px; font-size: clamp(26px, 4vw, 38px); line-height: 1.15; font-weight: 670;
  letter-spacing: -0.02em; text-wrap: balance; }
h2 { margin: 0 0 6px; font-size: 20px; font-weight: 650; letter-spacing: -0.01em; }
p { margin: 0 0 16px; max-width: 72ch; color: var(--soft); }
.card, article { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 18px; }
svg { display: block; width: 100%; height: auto; }
dl { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0; font-size: 13px; }
dl div { display: flex; gap: 6px; }
dt { color: var(--soft); }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dl.large { display: grid; grid-template-columns: repeat(auto-fit, minmax(128px, 1fr));
  gap: 16px 20px; margin: 22px 0 0; padding: 16px 0; border-block: 1px solid var(--line); }
dl.large div { display: block; }
dl.large dd { font-size: 18px; font-weight: 600; }
code { display: block; margin-top: 10px; padding: 10px 12px; border-radius: 8px; font-size: 12.5px;
  background: var(--plot); border: 1px solid var(--line); color: var(--soft);
  overflow-wrap: anywhere; user-select: all;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
code span { display: inline-block; max-width: 100%; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 14px; color: var(--soft); }
figure.card + figure.card { margin-top: 12px; }
pre.sample { margin: 6px 0 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.45 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
figcaption b { display: block; color: var(--ink); font-weight: 650; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 8px; text-align: right; font-weight: 400; }
th:first-child { padding-left: 0; text-align: left; color: var(--soft); }
td:last-child, th:last-child { padding-right: 0; }
thead th { vertical-align: bottom; font-weight: 600; font-size: 14px; line-height: 1.25; }
th.name { padding-top: 18px; color: var(--ink); font-weight: 650; border-bottom: 1px solid var(--line); }
th.name small { font-weight: 400; color: var(--soft); font-size: 13px; }
.best strong { padding: 1px 6px; margin-right: -6px; border-radius: 5px; background: var(--mark);
  font-weight: 650; }
table.bars { table-layout: fixed; }
table.bars th:first-child { width: 34%; overflow-wrap: anywhere; vertical-align: top; }
table.bars th:last-child { width: max(20%, 112px); }
table.bars .bar-cell { vertical-align: middle; }
.bar-cell i { display: block; height: 11px; border-radius: 2px; background: var(--accent); }
.bar-cell i.second { height: 6px; margin-top: 2px; background: var(--target); }
.share { display: inline-block; min-width: 64px; padding: 0 6px; border-radius: 4px;
  background: linear-gradient(90deg, var(--mark) var(--share), transparent var(--share)); }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 250px), 1fr));
  gap: 18px; }
.panels figure { max-width: 400px; }
iframe { display: block; width: 100%; height: 1600px; border: 1px solid var(--line);
  border-radius: 12px; background: var(--page); }

.plot { position: relative; margin: 30px 8px 44px 42px; height: 280px; font-size: 12px;
  color: var(--soft); font-variant-numeric: tabular-nums; }
.plot svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.plot path { fill: none; vector-effect: non-scaling-stroke; }
.plot .rule { stroke: var(--line); stroke-width: 1; }
.plot .curve { stroke: var(--accent); stroke-width: 2.2; stroke-linejoin: round; }
.series { stroke-width: 2.2; stroke-linejoin: round; fill: none; }
.plot .second { stroke: var(--target); stroke-width: 1.6; }
.plot .faint { stroke-width: 1.2; stroke-opacity: 0.35; }
[data-values] { cursor: crosshair; touch-action: pan-y; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 4px; border-radius: 4px; }
.tip { position: absolute; top: 0; left: 0; z-index: 3; max-width: min(320px, 90vw); padding: 5px 9px; border-radius: 6px;
  background: var(--ink); color: var(--page); font-size: 13px; line-height: 1.35; pointer-events: none;
  overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.tip:empty { opacity: 0; }
.marker { position: absolute; z-index: 2; width: 10px; height: 10px; margin: -5px 0 0 -5px;
  border-radius: 50%; border: 2px solid var(--ink); background: var(--card); pointer-events: none; }
details { margin-top: 14px; }
summary { cursor: pointer; color: var(--soft); font-size: 14px; }
details dl { margin-top: 10px; }
.plot .thin { stroke-width: 1.4; }
.plot .reference { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 4; }
.plot .dot { stroke: var(--accent); stroke-linecap: round; }
.plot .bar { fill: var(--accent); fill-opacity: 0.75; stroke: var(--card); stroke-width: 1; }
.plot .bars { fill: var(--accent); fill-opacity: 0.75; stroke: none; }
.plot span { position: absolute; white-space: nowrap; line-height: 1; }
.tick-x { top: calc(100% + 8px); transform: translateX(-50%); }
.tick-y { right: calc(100% + 8px); transform: translateY(-50%); }
.title-x { top: calc(100% + 26px); right: 0; }
.title-y { bottom: calc(100% + 14px); left: -34px; }
.plot.square { height: auto; aspect-ratio: 1; margin-bottom: 0; }
.plot.titled { margin-bottom: 44px; }
.plot.strip { height: 44px; margin-top: 48px; }
.plot.low { height: 130px; }

.wide header { max-width: 1500px; padding-inline: 28px; }
.wide main { max-width: 1500px; margin: 0 auto; padding: 20px 28px 48px; display: grid; gap: 22px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
.wide article { display: flex; flex-direction: column; gap: 12px; min-width: 0; }
.wide h2 { font-size: 16px; margin-right: 84px; }
.wide h3 { margin: 0 0 -8px; font-size: 13px; font-weight: 650; }
.wide article { position: relative; }
.wide article[hidden] { display: none; }
button { font: inherit; font-size: 13px; color: var(--ink); background: var(--plot); cursor: pointer;
  border: 1px solid var(--line); border-radius: 7px; padding: 4px 10px; min-height: 30px; }
button:hover { border-color: var(--accent); }
button[aria-pressed="true"] { background: var(--mark); border-color: var(--accent); }
.enlarge { position: absolute; top: 12px; right: 14px; }
.filter { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 14px; }
dialog { width: min(1100px, 96vw); max-height: 94vh; padding: 0; border: 0; border-radius: 12px;
  background: var(--card); color: var(--ink); }
dialog::backdrop { background: rgb(0 0 0 / 55%); }
dl.mechanisms dt { overflow-wrap: anywhere; }
.wide article code { margin-top: auto; font-size: 11.5px; }
.wide header code { display: inline-block; }
.legend { display: flex; flex-wrap: wrap; gap: 6px 20px; margin-top: 12px; color: var(--soft);
  font-size: 13px; }
.legend span { display: inline-flex; align-items: center; gap: 7px; }
.legend svg { width: 14px; height: 14px; flex: none; }
.plot + .legend { margin-top: -4px; }
.pictures { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
.frame { fill: var(--plot); stroke: var(--line); }
.axis { fill: var(--ink); font-size: 14px; paint-order: stroke; stroke: var(--plot); stroke-width: 5;
  stroke-linejoin: round; }
.pictures .dot { fill: none; stroke-width: 4.2; stroke-linecap: round; stroke-opacity: 0.7; }
.pictures .curve { fill: none; stroke: var(--target); stroke-width: 2.2; stroke-linejoin: round; }
.edge { fill: none; stroke: var(--edge); stroke-width: 1.2; stroke-opacity: 0.85; }
.edge.indirect { stroke-width: 0.8; stroke-opacity: 0.22; }
.node { fill: var(--card); stroke: var(--edge); stroke-width: 1.4; }
.node.feature { fill: var(--accent); stroke: var(--card); }
.node.target { fill: var(--target); stroke: var(--card); }
.core { fill: var(--card); pointer-events: none; }
.number { fill: var(--soft); font-size: 9px; paint-order: stroke; stroke: var(--plot); stroke-width: 2.5;
  pointer-events: none; }
.marginals { display: grid; grid-template-columns: repeat(auto-fill, minmax(72px, 1fr)); gap: 8px 12px; }
:where(.marginals) .bar { fill: var(--accent); fill-opacity: 0.8; }
.marginals .rule { stroke: var(--line); fill: none; }
.marginals figcaption { font-size: 11.5px; line-height: 1.3; overflow-wrap: anywhere; }

.key-bars { stroke: var(--accent); stroke-opacity: 0.75; stroke-width: 12; }
.key-line { stroke: var(--target); stroke-width: 2.4; }
.verdict { font-weight: 600; color: var(--ink); }
.verdict::before { content: "●"; margin-right: 6px; color: #2f9e52; }
.verdict.unknown::before { content: "○"; color: var(--soft); }
.verdict.moderate::before { content: "▲"; color: #c98a00; }
.verdict.large::before { content: "■"; color: var(--target); }
a { color: inherit; }

@media (max-width: 600px) {
  .pictures { grid-template-columns: 1fr; }
  .wide header, .wide main { padding-inline: 16px; }
  .card { padding: 14px; }
  .scores { padding-inline: 12px; font-size: 13.5px; overflow-x: auto; }
  th, td { padding-inline: 3px; }
  tr th[scope="row"] { white-space: nowrap; }
  table.bars tr th[scope="row"] { white-space: normal; }
  thead th { font-size: 11px; }
  .best strong { padding-inline: 4px; margin-right: -4px; }
}
)";

// Distinguishable on light and dark backgrounds.
constexpr const char* kPalette[] = {"#4269d0", "#ff725c", "#3ca951", "#efb118", "#a463f2",
                                    "#6cc5b0", "#ff8ab7", "#9c6b4e", "#97bbf5", "#9498a0"};

}  // namespace

std::string style_sheet() {
  std::string text = kStyle;
  int i = 0;
  for (const char* colour : kPalette) {
    text += fmt::format(".c{0} {{ stroke: {1}; }} .f{0} {{ fill: {1}; fill-opacity: 1; }}\n", i,
                        colour);
    ++i;
  }
  return text;
}

}  // namespace causeway::report
