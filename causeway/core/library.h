// Shared libraries that are opened at first use instead of being linked, so that a program starts
// without them. A copy that the process already has, such as the NCCL of PyTorch, is preferred:
// two copies of one library in a process disagree.
#pragma once

#include "causeway/core/error.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace causeway {

// Where a library is looked for, in this order: the file that `variable` names; a copy that is
// already loaded; NVIDIA's Python packages; the system's libraries.
struct LibrarySearch {
  std::string name;                    // for messages: "NCCL"
  std::vector<std::string> files;      // file names, the preferred one first: "libnccl.so.2"
  std::vector<std::string> wheels;     // folders below a wheel folder: "nccl/lib"
  std::string variable;                // environment variable: "CAUSEWAY_NCCL"
  std::string advice;                  // how to install it
  ErrorKind kind = ErrorKind::device;  // of the error where it is absent
  bool global = false;                 // its plugins look for its symbols in the whole process
};

// Stays loaded until the process ends.
class SharedLibrary {
 public:
  // Throws an error that lists what was tried and how to install the library.
  explicit SharedLibrary(LibrarySearch search);

  // The function or variable of that name. Throws where the library has none.
  template <class Pointer>
  Pointer symbol(const char* name) const {
    return reinterpret_cast<Pointer>(require(name));
  }
  bool has(const char* name) const;

  const std::string& path() const { return path_; }
  void* handle() const { return handle_; }

  // Throws: the library was found, but is older than `needed`.
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

// Declares a member that points to the function `name` of `library`, with the type that the
// library's header gives it. For tables of functions: struct Api { SharedLibrary library; … };
#define CAUSEWAY_LIBRARY_FUNCTION(library, name) \
  decltype(&::name) name = (library).symbol<decltype(&::name)>(#name)

// What there is to say about a library of this process; opens it.
struct LibraryStatus {
  std::string version;  // empty where it is absent
  std::string path;
  std::string absence;  // why it is absent; empty where it is there
};

// Adds a folder of NVIDIA's Python packages (site-packages/nvidia) to the search. The environment
// variable CAUSEWAY_WHEELS, a list separated by colons, does the same.
void add_wheel_folder(const std::filesystem::path& folder);

}  // namespace causeway
