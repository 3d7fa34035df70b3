// Parts shared by all pages: escaping, sections, facts. A page is one self-contained file with a
// light and a dark style sheet, and well-formed XML.
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

// A section with a heading, an optional paragraph of plain text, and HTML.
std::string section_html(std::string_view id, std::string_view title, std::string_view lead,
                         const std::string& content);

struct Page {
  std::string title;
  std::string lead;        // plain text below the title
  std::string header;      // HTML below that
  std::string body;        // HTML
  bool wide = false;       // a grid of cards instead of a column
  std::string style = {};  // further rules of the style sheet
};

std::string page_html(const Page& page);

}  // namespace causeway::report
