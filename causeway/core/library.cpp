#include "causeway/core/library.h"

#include "causeway/core/environment.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <mutex>
#include <sstream>
#include <utility>

namespace causeway {

namespace {

namespace fs = std::filesystem;

struct WheelFolders {
  std::mutex mutex;
  std::vector<fs::path> paths;
};

WheelFolders& added_folders() {
  static WheelFolders folders;
  return folders;
}

std::vector<fs::path> wheel_folders() {
  WheelFolders& added = added_folders();
  const std::lock_guard lock(added.mutex);
  std::vector<fs::path> all = added.paths;
  std::istringstream listed(environment("CAUSEWAY_WHEELS").value_or(""));
  for (std::string folder; std::getline(listed, folder, ':');) {
    if (!folder.empty()) all.emplace_back(folder);
  }
  return all;
}

std::string last_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

}  // namespace

SharedLibrary::SharedLibrary(LibrarySearch search) : search_(std::move(search)) {
  const auto given =
      search_.variable.empty() ? std::nullopt : environment(search_.variable.c_str());
  if (given) {
    open_override(*given);
  } else {
    open_loaded();
    if (handle_ == nullptr) open_first();
  }
  path_ = path_of(handle_);
}

void SharedLibrary::open_override(const std::string& file) {
  handle_ = dlopen(file.c_str(), RTLD_NOW | (search_.global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (handle_ != nullptr) return;
  fail(search_.kind, search_.name,
       fmt::format("cannot open the library given by {}: {}", search_.variable, last_error()));
}

void SharedLibrary::open_loaded() {
  // RTLD_GLOBAL also exports the symbols of a copy that was loaded without it.
  const int mode = RTLD_NOW | RTLD_NOLOAD | (search_.global ? RTLD_GLOBAL : RTLD_LOCAL);
  for (const std::string& file : search_.files) {
    handle_ = dlopen(file.c_str(), mode);
    if (handle_ != nullptr) return;
  }
}

void SharedLibrary::open_first() {
  const int mode = RTLD_NOW | (search_.global ? RTLD_GLOBAL : RTLD_LOCAL);
  const auto opens = [&](const std::string& file) {
    handle_ = dlopen(file.c_str(), mode);
    if (handle_ == nullptr) tried_ += fmt::format("{}{}", tried_.empty() ? "" : "; ", last_error());
    return handle_ != nullptr;
  };
  for (const fs::path& folder : wheel_folders()) {
    for (const std::string& wheel : search_.wheels) {
      for (const std::string& file : search_.files) {
        std::error_code none;
        const fs::path path = folder / wheel / file;
        if (fs::exists(path, none) && opens(path)) return;
      }
    }
  }
  for (const std::string& file : search_.files) {
    if (opens(file)) return;
  }
  const std::string other =
      search_.variable.empty() ? "" : fmt::format(", or set {} to its path", search_.variable);
  fail(search_.kind, search_.name,
       fmt::format("library not found; {}{} (tried: {})", search_.advice, other, tried_));
}

bool SharedLibrary::has(const char* name) const { return dlsym(handle_, name) != nullptr; }

void* SharedLibrary::require(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found != nullptr) return found;
  fail(search_.kind, search_.name,
       fmt::format("\"{}\" has no symbol {}; it is too old or a different library; {}", path_, name,
                   search_.advice));
}

void SharedLibrary::fail_version(std::string_view version, std::string_view needed) const {
  fail(search_.kind, search_.name,
       fmt::format("\"{}\" has version {}, expected {}; {}", path_, version, needed,
                   search_.advice));
}

void add_wheel_folder(const fs::path& folder) {
  WheelFolders& added = added_folders();
  const std::lock_guard lock(added.mutex);
  added.paths.push_back(folder);
}

}  // namespace causeway
