#include "causeway/report/html.h"

#include "causeway/report/script.h"
#include "causeway/report/style.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::report {

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default:  // XML allows no other control characters
        safe += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return safe;
}

std::string facts_html(const Facts& facts, std::string_view style) {
  std::string items;
  for (const auto& [name, value] : facts) {
    items += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
  }
  return style.empty() ? fmt::format("<dl>{}</dl>", items)
                       : fmt::format("<dl class=\"{}\">{}</dl>", style, items);
}

std::string command_html(std::string_view command) {
  std::string html = "<code><span>";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t next = std::min(command.find(" --", at + 1), command.size());
    html += escaped(command.substr(at, next - at));
    if (next < command.size()) html += "</span> <span>";
    at = next + (next < command.size() ? 1 : 0);
  }
  return html + "</span></code>";
}

std::string section_html(std::string_view id, std::string_view title, std::string_view lead,
                         const std::string& content) {
  const std::string paragraph = lead.empty() ? "" : fmt::format("<p>{}</p>\n", escaped(lead));
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\">\n<h2 id=\"{0}-title\">{1}</h2>\n{2}{3}\n"
      "</section>\n",
      id, escaped(title), paragraph, content);
}

std::string page_html(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n"
      "<body{2}>\n<header>\n<h1>{0}</h1>\n<p>{3}</p>\n{4}\n</header>\n<main>\n{5}</main>\n{6}\n"
      "</body>\n</html>\n",
      escaped(page.title), style_sheet() + page.style, page.wide ? " class=\"wide\"" : "",
      escaped(page.lead), page.header, page.body, script_html());
}

}  // namespace causeway::report
