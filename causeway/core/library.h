// Shared libraries that are opened at first use instead of being linked, so that a program starts
// without them. A copy already loaded in the process, such as PyTorch's NCCL, is preferred: two
// copies of one library in a process conflict.
#pragma once

#include "causeway/core/error.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// Search order: the file named by `variable`; a copy that is already loaded; NVIDIA's Python
// packages; the system's libraries.
struct LibrarySearch {
  std::string name;                    // for messages: "NCCL"
  std::vector<std::string> files;      // file names, the preferred one first: "libnccl.so.2"
  std::vector<std::string> wheels;     // subfolders of a wheel folder: "nccl/lib"
  std::string variable;                // environment variable: "CAUSEWAY_NCCL"
  std::string advice;                  // how to install it
  ErrorKind kind = ErrorKind::device;  // of the error if it is absent
  bool global = false;                 // plugins look up its symbols in the whole process
};

// Stays loaded until the process ends.
class SharedLibrary {
 public:
  // Throws an error that lists the attempts and how to install the library.
  explicit SharedLibrary(LibrarySearch search);

  // The function or variable of that name; throws if the library has none.
  template <class Pointer>
  Pointer symbol(const char* name) const {
    return reinterpret_cast<Pointer>(require(name));
  }
  bool has(const char* name) const;

  const std::string& path() const { return path_; }
  void* handle() const { return handle_; }

  // Throws the error for a library that is older than `needed`.
  [[noreturn]] void fail_version(std::string_view version, std::string_view needed) const;

 private:
  void* require(const char* name) const;
  void open_override(const std::string& file);
  void open_loaded();
  void open_first();

  LibrarySearch search_;
  void* handle_ = nullptr;
  std::string path_;
  std::string tried_;
};

// Declares a member that points to the function `name` of `library`, with the type declared in the
// library's header. For function tables: struct Api { SharedLibrary library; … };
#define CAUSEWAY_LIBRARY_FUNCTION(library, name) \
  decltype(&::name) name = (library).symbol<decltype(&::name)>(#name)

// Version and path of a library, or the reason why it is absent. Reading it opens the library.
struct LibraryStatus {
  std::string version;  // empty if absent
  std::string path;
  std::string absence;  // reason for the absence; empty if present
};

// Adds a folder of NVIDIA's Python packages (site-packages/nvidia) to the search. The environment
// variable CAUSEWAY_WHEELS, a list separated by colons, does the same.
void add_wheel_folder(const std::filesystem::path& folder);

}  // namespace causeway
