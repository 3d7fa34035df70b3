// `causeway kernel explain`: a page with a kernel in Python, IR, CUDA C++ and PTX.
#include "cli/kernel.h"
#include "cli/options.h"

#include "causeway/core/error.h"
#include "causeway/jit/kernel.h"
#include "causeway/jit/line_map.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/report/kernel_page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <sstream>

namespace causeway::cli {

namespace {

struct ExplainCommand {
  std::string file;
  std::string kernel;
  std::string html;
  std::string architecture = "sm_90";
  bool json = false;
};

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The lines of the kernel's function, and its first line in the file.
report::CodeForm python_form(const jit::Kernel& kernel) {
  const lang::Source& source = *kernel.module().source;
  const int name_line = source.position(kernel.function().span.begin).line;
  const std::vector<std::string> lines = split_lines(std::string(source.text()));
  const auto is_indented = [](const std::string& line) {
    return line.empty() || line[0] == ' ' || line[0] == '\t' || line[0] == ')';
  };
  int first = name_line;
  while (first > 1 && lines[static_cast<std::size_t>(first - 2)].starts_with("@")) --first;
  std::size_t end = static_cast<std::size_t>(name_line);
  while (end < lines.size() && is_indented(lines[end])) ++end;
  while (end > static_cast<std::size_t>(name_line) && lines[end - 1].empty()) --end;
  report::CodeForm form{"Python", fmt::format("line {} of {}", first, source.name()), {}};
  for (std::size_t i = static_cast<std::size_t>(first); i <= end; ++i) {
    form.lines.push_back({lines[i - 1], static_cast<int>(i)});
  }
  return form;
}

report::CodeForm ir_form(const jit::Kernel& kernel) {
  std::vector<lang::Span> spans;
  const std::string text = lang::print_ir(kernel.module(), kernel.function(), &spans);
  report::CodeForm form{"IR", "typed, in SSA form", {}};
  for (const std::string& line : split_lines(text)) {
    const std::size_t i = form.lines.size();
    const bool known = i < spans.size() && spans[i].end > 0;
    form.lines.push_back({line, known ? kernel.module().source->position(spans[i].begin).line : 0});
  }
  return form;
}

report::CodeForm cuda_form(const jit::Kernel& kernel, const lang::Emitted& cuda) {
  report::CodeForm form{"CUDA C++", "grid-stride loop", {}};
  for (const std::string& line : split_lines(cuda.text)) {
    const int number = static_cast<int>(form.lines.size()) + 1;
    form.lines.push_back({line, jit::source_line(kernel.module(), cuda, number)});
  }
  return form;
}

// Lines after a .loc directive belong to the CUDA line it names; directives are left out.
report::CodeForm ptx_form(const jit::Kernel& kernel, const lang::Emitted& cuda, int architecture) {
  report::CodeForm form{
      "PTX", fmt::format("sm_{}, by NVRTC {}", architecture, jit::nvrtc_status().version), {}};
  jit::CudaOptions options;
  options.architecture = architecture;
  options.kind = jit::CodeKind::ptx;
  options.line_info = true;
  const jit::Bytes bytes = jit::compile_cuda({cuda.entry + ".cu", cuda.text}, options);
  int source = 0;
  for (const std::string& line :
       split_lines({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    const std::size_t at = line.find_first_not_of(" \t");
    const std::string word = at == std::string::npos ? "" : line.substr(at);
    if (word.starts_with(".section")) break;  // debug information
    if (word.starts_with(".loc")) {
      int file = 0;
      int number = 0;
      std::istringstream(word.substr(4)) >> file >> number;
      source = jit::source_line(kernel.module(), cuda, number);
      continue;
    }
    if (word.starts_with("//") || word.starts_with(".file") || word.empty()) continue;
    const bool instruction = line[0] == '\t' && word[0] != '.' && word[0] != '{';
    form.lines.push_back({line, instruction ? source : 0});
  }
  return form;
}

void run(const ExplainCommand& command) {
  const lang::Module module = compile_file(command.file);
  const int architecture = parse_architecture(command.architecture);
  std::vector<report::KernelForms> kernels;
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    const lang::Function& function = module.functions[i];
    if (function.kind != lang::FunctionKind::kernel) continue;
    if (!command.kernel.empty() && function.name != command.kernel) continue;
    const jit::Kernel kernel(module, static_cast<int>(i));
    const lang::Emitted cuda = kernel.emitted();
    kernels.push_back({kernel.name(),
                       {python_form(kernel), ir_form(kernel), cuda_form(kernel, cuda),
                        ptx_form(kernel, cuda, architecture)}});
  }
  if (kernels.empty()) jit::find_kernel(module, command.kernel);  // throws
  write_output(command.html, report::kernel_html(command.file,
                                                 "Hover over a line to highlight the lines that "
                                                 "belong to it; click to keep the highlight.",
                                                 kernels));
  if (!command.json) return;
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const report::KernelForms& forms : kernels) names.push_back(forms.name);
  const nlohmann::ordered_json json{{"out", command.html}, {"kernels", names}};
  fmt::print("{}\n", json.dump());
}

}  // namespace

void add_kernel_explain(CLI::App& kernel) {
  CLI::App* command = kernel.add_subcommand(
      "explain", "Write a page with a kernel's Python, IR, CUDA C++ and PTX, lines linked");
  const auto options = std::make_shared<ExplainCommand>();
  command->add_option("file", options->file, "Python file with kernels")->required();
  command->add_option("--kernel", options->kernel, "Kernel to show [all]")->type_name("NAME");
  command->add_option("--html", options->html, "Page to write")->type_name("FILE")->required();
  command->add_option("--arch", options->architecture, "GPU architecture for PTX [sm_90]")
      ->type_name("ARCH");
  add_json(*command, options->json);
  command->callback([options] { run(*options); });
}

}  // namespace causeway::cli
