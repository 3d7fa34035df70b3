#include "causeway/tables/weights.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace causeway::tables {

namespace {

namespace fs = std::filesystem;

// The program or shared library that this code was linked into.
std::optional<fs::path> this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_weights), &info) == 0) return std::nullopt;
  std::error_code none;
  const fs::path path = fs::canonical(info.dli_fname, none);
  return none ? std::nullopt : std::optional(path);
}

std::vector<fs::path>& added_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

std::vector<fs::path> folders() {
  if (const auto given = environment("CAUSEWAY_WEIGHTS")) return {*given};
  std::vector<fs::path> all;
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (const auto library = this_library(); library.has_value() && *library != program) {
    all.push_back(library->parent_path() / "weights");
    all.push_back(library->parent_path().parent_path() / "share/causeway/weights");
  }
  all.push_back(program.parent_path() / "python/causeway/weights");
  all.push_back(program.parent_path().parent_path() / "share/causeway/weights");
  all.push_back(program.parent_path().parent_path() / "weights");  // a program in a wheel
  all.insert(all.end(), added_folders().begin(), added_folders().end());
  return all;
}

}  // namespace

void add_weights_folder(const fs::path& folder) { added_folders().push_back(folder); }

WeightsSearch find_weights(bool regression) {
  WeightsSearch search{regression ? "tabular_regression.safetensors" : "tabular.safetensors",
                       std::nullopt, folders()};
  for (const fs::path& folder : search.folders) {
    std::error_code none;
    if (!fs::exists(folder / search.name, none)) continue;
    search.found = folder / search.name;
    break;
  }
  return search;
}

fs::path packaged_weights(bool regression, const std::string& advice) {
  const WeightsSearch search = find_weights(regression);
  if (search.found.has_value()) return *search.found;
  std::string searched;
  for (const fs::path& folder : search.folders) {
    searched += fmt::format("{}\"{}\"", searched.empty() ? "" : " or ", folder.string());
  }
  fail(ErrorKind::invalid_argument, "weights",
       fmt::format("no weights found: no {} in {}; {}, or set CAUSEWAY_WEIGHTS to a folder that "
                   "has it",
                   search.name, searched, advice));
}

}  // namespace causeway::tables
