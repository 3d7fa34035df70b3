// A kernel in several forms side by side, lines that belong together linked.
#pragma once

#include <string>
#include <vector>

namespace causeway::report {

// A line of one form, and the line of the first form it comes from (from 1; 0 for none).
struct CodeLine {
  std::string text;
  int source = 0;
};

struct CodeForm {
  std::string title;  // "Python", "CUDA C++"
  std::string note;   // plain text below it; may be empty
  std::vector<CodeLine> lines;
};

struct KernelForms {
  std::string name;
  std::vector<CodeForm> forms;
};

// One page. Pointing at a line marks those that belong to it in all forms of the kernel; a click
// keeps the mark.
std::string kernel_html(const std::string& title, const std::string& lead,
                        const std::vector<KernelForms>& kernels);

}  // namespace causeway::report
