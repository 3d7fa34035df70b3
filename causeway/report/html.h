// What all pages share: escaping, one style sheet for light and dark, and the parts of a page. A
// page is one file that loads nothing else, and is well-formed XML too.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace causeway::report {

using Facts = std::vector<std::pair<std::string, std::string>>;  // name and value

// Text between tags or in an attribute.
std::string escaped(std::string_view text);

// A definition list; `style` is one of "", "large".
std::string facts_html(const Facts& facts, std::string_view style = "");

// A shell command; lines break between options only.
std::string command_html(std::string_view command);

// A section with a heading, a paragraph of plain text that may be empty, and HTML.
std::string section_html(std::string_view id, std::string_view title, std::string_view lead,
                         const std::string& content);

struct Page {
  std::string title;
  std::string lead;    // plain text below the title
  std::string header;  // HTML below that
  std::string body;    // HTML
  bool wide = false;   // a grid of cards instead of a column
  std::string style;   // further rules of the style sheet
};

std::string page_html(const Page& page);

}  // namespace causeway::report
