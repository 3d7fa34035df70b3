#include "cli/weights.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace causeway::cli {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  if (const auto given = environment("CAUSEWAY_WEIGHTS")) return {*given};
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  return {program / "python/causeway/weights", program.parent_path() / "share/causeway/weights",
          program.parent_path() / "weights"};
}

}  // namespace

std::string packaged_weights(bool regression) {
  const char* name = regression ? "tabular_regression.safetensors" : "tabular.safetensors";
  std::string looked_in;
  for (const fs::path& folder : folders()) {
    std::error_code none;
    if (fs::exists(folder / name, none)) return folder / name;
    looked_in += fmt::format("{}\"{}\"", looked_in.empty() ? "" : " or ", folder.string());
  }
  fail(ErrorKind::invalid_argument, "predict",
       fmt::format("there is no model: no {} in {}; pass --model, such as the model.safetensors of "
                   "a `causeway pretrain` run, or set CAUSEWAY_WEIGHTS to a folder that has it",
                   name, looked_in));
}

}  // namespace causeway::cli
