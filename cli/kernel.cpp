#include "cli/kernel.h"

#include "cli/print.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"

#include <fmt/format.h>

namespace causeway::cli {

lang::Module compile_file(const std::string& path) {
  std::string text;
  {
    const MappedFile file("kernel", path);
    text.assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  }
  try {
    return lang::compile(path, std::move(text));
  } catch (const lang::CompileError& error) {
    throw Error(ErrorKind::invalid_argument, error.message());
  }
}

int parse_architecture(const std::string& text) {
  std::string digits = text.starts_with("sm_") ? text.substr(3) : text;
  std::erase(digits, '.');
  const bool is_number = digits.size() >= 2 && digits.size() <= 3 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return std::stoi(digits);
  throw CLI::ValidationError("--arch", "\"" + text + "\" is no architecture such as sm_90");
}

void write_output(const std::string& path, const std::string& text) {
  if (path.empty()) {
    print_text(text);
    return;
  }
  FileWriter writer("kernel", path);
  writer.write(text);
  writer.commit();
}

void add_kernel(CLI::App& app) {
  CLI::App* command = app.add_subcommand("kernel", "Compile, run and explain Python kernels");
  command->require_subcommand(1);
  add_kernel_compile(*command);
  add_kernel_run(*command);
  add_kernel_explain(*command);
}

}  // namespace causeway::cli
