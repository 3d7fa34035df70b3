#include "causeway/report/pairs_page.h"

#include "causeway/report/highlight.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace causeway::report {

namespace {

constexpr const char* kPairsStyle = R"(
header, main section { max-width: 1600px; padding-inline: clamp(14px, 2.4vw, 28px); }
main section { padding-top: 26px; }
fieldset { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; margin: 0; padding: 0; border: 0; min-width: 0; }
fieldset + fieldset { margin-top: 8px; }
legend { float: left; width: 74px; padding: 0; font-size: 13px; color: var(--soft); }
fieldset label { padding: 3px 11px; border: 1px solid var(--line); border-radius: 99px; font-size: 13px;
  background: var(--card); cursor: pointer; white-space: nowrap; }
fieldset label:has(:checked) { background: var(--accent); border-color: var(--accent); color: var(--card); }
fieldset label:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }
fieldset input { position: absolute; opacity: 0; pointer-events: none; }
fieldset small { opacity: 0.7; font-size: inherit; }
article { margin-bottom: 20px; padding: 0; overflow: hidden; }
.about { padding: 14px 18px 12px; }
.about h2 { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 12px; overflow-wrap: anywhere;
  font-size: 17px; }
.about h2 small { font-weight: 400; font-size: 13px; color: var(--soft); }
.about p { margin: 0 0 8px; color: var(--ink); }
.badges { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 0 8px; padding: 0; list-style: none; font-size: 12px; }
.badges li { padding: 1px 9px; border-radius: 99px; background: var(--mark); }
.badges li::before { content: "\2713\00a0"; color: var(--accent); font-weight: 700; }
.forms { display: flex; flex-wrap: wrap; border-top: 1px solid var(--line); }
.forms figure { flex: 1 1 min(100%, 400px); display: flex; flex-direction: column; margin: 0 -1px -1px 0; border-right: 1px solid var(--line);
  border-bottom: 1px solid var(--line); }
.forms figcaption { display: flex; gap: 10px; padding: 6px 18px; border-bottom: 1px solid var(--line); font-size: 12.5px; }
.forms pre, details pre { margin: 0; padding: 12px 18px; overflow: auto; max-height: 460px; font-size: 12.5px;
  line-height: 1.5; tab-size: 4; background: var(--plot); flex: 1;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
details { border-top: 1px solid var(--line); font-size: 14px; }
summary { padding: 8px 18px; cursor: pointer; }
summary b { color: var(--target); font-weight: 600; }
.changed { background: color-mix(in srgb, var(--target) 22%, transparent); }
@media (max-width: 600px) { legend { float: none; width: 100%; margin-bottom: 4px; }
  .about, summary { padding-inline: 14px; } .forms pre, details pre, .forms figcaption { padding-inline: 14px; }
  .forms pre { max-height: 340px; font-size: 12px; } }
)";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string form_html(const char* title, const std::string& text, CodeLanguage language) {
  return fmt::format(
      "<figure><figcaption><b>{}</b>{} lines</figcaption><pre tabindex=\"0\">{}</pre></figure>\n",
      title, lines_of(text).size(), highlighted(text, language));
}

// The wrong variant; lines that the right one does not have are marked.
std::string mistake_html(const PairCard& card) {
  const std::vector<std::string> right = lines_of(card.python);
  const std::set<std::string> known(right.begin(), right.end());
  std::string text;
  for (const std::string& line : lines_of(card.wrong_python)) {
    const std::string html = highlighted(line, CodeLanguage::python);
    text += known.contains(line) ? html + "\n"
                                 : fmt::format("<span class=\"changed\">{}</span>\n", html);
  }
  return fmt::format(
      "<details><summary><b>Wrong variant</b> {}</summary><pre tabindex=\"0\">{}</pre></details>\n",
      escaped(card.mistake), text);
}

std::string variant_html(const PairCard::Form& variant) {
  return fmt::format("<details><summary>{}</summary><pre tabindex=\"0\">{}</pre></details>\n",
                     escaped(variant.title), highlighted(variant.text, CodeLanguage::cuda));
}

std::string card_html(const PairCard& card) {
  std::string badges;
  for (const std::string& check : card.checks) badges += fmt::format("<li>{}</li>", escaped(check));
  std::string forms = form_html("Python", card.python, CodeLanguage::python);
  forms += form_html("CUDA C++", card.cuda, CodeLanguage::cuda);
  if (!card.adjoint.empty()) forms += form_html("Adjoint", card.adjoint, CodeLanguage::cuda);
  std::string variants;
  for (const PairCard::Form& variant : card.variants) variants += variant_html(variant);
  if (!card.mistake.empty()) variants += mistake_html(card);
  return fmt::format(
      "<article id=\"{0}\" class=\"c-{1} l-{2}\">\n<div class=\"about\"><h2>{3}<small>{1}, level "
      "{2}</small></h2>\n<p>{4}</p>\n<ul class=\"badges\">{5}</ul>\n{6}</div>\n"
      "<div class=\"forms\">{7}</div>\n{8}</article>\n",
      escaped(card.id), escaped(card.category), card.level, escaped(card.kernel),
      escaped(card.description), badges, facts_html(card.facts), forms, variants);
}

using Counts = std::map<std::string, int>;

// A group of radio buttons; the style sheet hides what the checked one does not name.
std::string filter_html(const char* title, const char* prefix, const Counts& counts) {
  std::string html = fmt::format(
      "<fieldset><legend>{0}</legend><label><input type=\"radio\" name=\"{1}\" "
      "checked=\"checked\"/>all</label>",
      title, prefix);
  for (const auto& [name, count] : counts) {
    html += fmt::format(
        "<label><input type=\"radio\" name=\"{0}\" id=\"{0}-{1}\"/>{1} <small>{2}</small></label>",
        prefix, escaped(name), count);
  }
  return html + "</fieldset>\n";
}

std::string filter_rules(const char* prefix, const Counts& counts) {
  std::string rules;
  for (const auto& [name, count] : counts) {
    rules += fmt::format("body:has(#{0}-{1}:checked) article:not(.{0}-{1}) {{ display: none; }}\n",
                         prefix, name);
  }
  return rules;
}

}  // namespace

std::string pairs_html(const PairsPage& page) {
  Counts categories;
  Counts levels;
  std::string cards;
  for (const PairCard& card : page.pairs) {
    ++categories[card.category];
    ++levels[std::to_string(card.level)];
    cards += card_html(card);
  }
  Page html{page.title, page.lead, command_html(page.command),
            fmt::format("<section aria-label=\"Filters\">\n{}{}</section>\n<section "
                        "aria-label=\"Pairs\">\n{}</section>\n",
                        filter_html("category", "c", categories), filter_html("level", "l", levels),
                        cards)};
  html.style =
      kPairsStyle + highlight_style() + filter_rules("c", categories) + filter_rules("l", levels);
  return page_html(html);
}

}  // namespace causeway::report
