// `causeway kernel compile`: a Python kernel as CUDA C++, C++, IR, adjoint, PTX or Warp.
#include "cli/kernel.h"
#include "cli/options.h"

#include "causeway/core/error.h"
#include "causeway/jit/kernel.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/lang/emit/warp.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace causeway::cli {

namespace {

struct CompileCommand {
  std::string file;
  std::string kernel;
  std::string form = "cuda";
  std::string architecture = "sm_90";
  std::string out;
  bool json = false;

  // The chosen kernel, or every kernel of the file.
  std::vector<int> chosen(const lang::Module& module) const {
    if (!kernel.empty()) return {jit::find_kernel(module, kernel)};
    std::vector<int> all;
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
      if (module.functions[i].kind == lang::FunctionKind::kernel) {
        all.push_back(static_cast<int>(i));
      }
    }
    if (all.empty()) jit::find_kernel(module, "");  // throws
    return all;
  }

  std::string text_of(const lang::Module& module, int index) const {
    const auto& function = module.functions[static_cast<std::size_t>(index)];
    if (form == "ir") return lang::print_ir(module, function);
    if (form == "warp") return lang::emit_warp(*module.source, function.name);
    const jit::Kernel compiled(module, index);
    if (form == "cpp") return compiled.emitted({lang::Dialect::cpp}).text;
    if (form == "adjoint") return compiled.adjoint().emitted().text;
    const lang::Emitted cuda = compiled.emitted();
    if (form == "cuda") return cuda.text;
    jit::CudaOptions options;
    options.architecture = parse_architecture(architecture);
    options.kind = jit::CodeKind::ptx;
    const jit::Bytes ptx = jit::compile_cuda({cuda.entry + ".cu", cuda.text}, options);
    return {reinterpret_cast<const char*>(ptx.data()), ptx.size()};
  }

  void run() const {
    const lang::Module module = compile_file(file);
    std::string text;
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
    for (const int index : chosen(module)) {
      const std::string of_kernel = text_of(module, index);
      const std::string name(module.functions[static_cast<std::size_t>(index)].name);
      kernels.push_back({{"name", name}, {"text", of_kernel}});
      text += (text.empty() ? "" : "\n") + of_kernel;
    }
    const nlohmann::ordered_json all{{"form", form}, {"kernels", kernels}};
    write_output(out, json ? all.dump() + "\n" : text);
  }
};

}  // namespace

void add_kernel_compile(CLI::App& kernel) {
  CLI::App* command =
      kernel.add_subcommand("compile", "Print a kernel as CUDA C++, C++, IR, adjoint, PTX or Warp");
  const auto options = std::make_shared<CompileCommand>();
  command->add_option("file", options->file, "Python file with kernels")->required();
  command->add_option("--kernel", options->kernel, "Kernel to compile [all]")->type_name("NAME");
  command->add_option("--emit", options->form, "Form to print [cuda]")
      ->check(CLI::IsMember({"cuda", "cpp", "ir", "adjoint", "ptx", "warp"}).description(""))
      ->type_name("cuda|cpp|ir|adjoint|ptx|warp");
  command->add_option("--arch", options->architecture, "GPU architecture for PTX [sm_90]")
      ->type_name("ARCH");
  command->add_option("--out", options->out, "File to write [stdout]")->type_name("FILE");
  add_json(*command, options->json);
  command->callback([options] { options->run(); });
}

}  // namespace causeway::cli
