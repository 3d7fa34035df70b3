#include "causeway/data/input_paths.h"

#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include <glob.h>

namespace causeway::data {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

void add_folder(std::string_view operation, const fs::path& folder,
                const std::function<bool(const fs::path&)>& accepts, std::vector<fs::path>& files) {
  const auto first = static_cast<std::ptrdiff_t>(files.size());
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    if (hidden) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file() && accepts(at->path())) files.push_back(at->path());
  }
  if (error) fail_io(operation, "read", folder, error.value());
  std::sort(files.begin() + first, files.end());
}

}  // namespace

std::vector<fs::path> expand_inputs(std::string_view operation, std::span<const std::string> inputs,
                                    const std::function<bool(const fs::path&)>& accepts) {
  std::vector<fs::path> files;
  for (const std::string& input : inputs) {
    const std::size_t before = files.size();
    std::error_code ignored;
    if (fs::exists(input, ignored)) {
      if (fs::is_directory(input, ignored)) {
        add_folder(operation, input, accepts, files);
      } else {
        files.emplace_back(input);
      }
    } else if (input.find_first_of("*?[") == std::string::npos) {
      fail_io(operation, "open", input, ENOENT);
    } else {
      for (const fs::path& match : matches(input)) {
        if (!fs::is_directory(match, ignored)) files.push_back(match);
      }
    }
    if (files.size() == before) {
      fail(ErrorKind::invalid_argument, operation,
           fmt::format("{} has no file to read; check the path", shown(input)));
    }
  }
  return files;
}

}  // namespace causeway::data
