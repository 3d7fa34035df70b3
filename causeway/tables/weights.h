// The weights that come with the library: tabular.safetensors and tabular_regression.safetensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace causeway::tables {

struct WeightsSearch {
  std::string name;                            // of the file
  std::optional<std::filesystem::path> found;  // the file itself
  std::vector<std::filesystem::path> folders;  // that were searched
};

// Searches only the folder CAUSEWAY_WEIGHTS if it is set. Otherwise: the folder `weights` of the
// Python package or shared library that holds this code, the package in the program's build folder,
// and share/causeway/weights of the installation.
WeightsSearch find_weights(bool regression);

// Searched last; programs that link the installed library register its folder before main.
void add_weights_folder(const std::filesystem::path& folder);

// The file; throws invalid_argument if there is none, with `advice` such as "pass --model".
std::filesystem::path packaged_weights(bool regression, const std::string& advice);

}  // namespace causeway::tables
