#include "causeway/report/kernel_page.h"

#include "causeway/report/html.h"

#include <fmt/format.h>

#include <set>

namespace causeway::report {

namespace {

constexpr const char* kKernelStyle = R"(
.forms { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr));
  align-items: start; }
.forms figure { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  overflow: hidden; }
.forms figcaption { padding: 8px 14px; border-bottom: 1px solid var(--line); }
.forms pre { margin: 0; padding: 8px 0; overflow: auto; max-height: 75vh; font-size: 12.5px; tab-size: 4;
  line-height: 1.5; font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.forms pre span { display: block; width: max-content; min-width: 100%; padding: 0 14px; white-space: pre; }
.forms pre span[tabindex] { cursor: pointer; outline: none; }
.forms pre span:empty::before { content: " "; }
main section { max-width: none; padding-inline: 28px; }
header { max-width: none; padding-inline: 28px; }
)";

// The class of the lines that belong to a line of the first form of a kernel.
std::string line_class(std::size_t kernel, int line) { return fmt::format("k{}l{}", kernel, line); }

std::string form_html(std::size_t kernel, const CodeForm& form) {
  std::string lines;
  for (const CodeLine& line : form.lines) {
    lines += line.source > 0 ? fmt::format("<span tabindex=\"0\" class=\"{}\">{}</span>",
                                           line_class(kernel, line.source), escaped(line.text))
                             : fmt::format("<span>{}</span>", escaped(line.text));
  }
  return fmt::format("<figure><figcaption><b>{}</b>{}</figcaption><pre>{}</pre></figure>\n",
                     escaped(form.title), escaped(form.note), lines);
}

// Marks every line of a class while one of them is pointed at or was clicked.
std::string rules(std::size_t kernel, const KernelForms& forms) {
  std::set<int> used;
  for (const CodeForm& form : forms.forms) {
    for (const CodeLine& line : form.lines) used.insert(line.source);
  }
  std::string text;
  for (const int line : used) {
    if (line == 0) continue;
    const std::string name = line_class(kernel, line);
    text += fmt::format(
        ".forms:has(.{0}:hover) .{0}, .forms:has(.{0}:focus) .{0} {{ background: "
        "var(--mark); box-shadow: inset 3px 0 var(--accent); }}\n",
        name);
  }
  return text;
}

}  // namespace

std::string kernel_html(const std::string& title, const std::string& lead,
                        const std::vector<KernelForms>& kernels) {
  std::string body;
  std::string style = kKernelStyle;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::string columns;
    for (const CodeForm& form : kernels[i].forms) columns += form_html(i, form);
    body += section_html(fmt::format("kernel-{}", i), kernels[i].name, "",
                         fmt::format("<div class=\"forms\">{}</div>", columns));
    style += rules(i, kernels[i]);
  }
  Page page{title, lead, "", body};
  page.style = style;
  return page_html(page);
}

}  // namespace causeway::report
