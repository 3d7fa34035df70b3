#include "causeway/jit/native.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/file.h"
#include "causeway/core/mapped_file.h"
#include "causeway/jit/disk_cache.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

extern char** environ;  // NOLINT: POSIX declares it nowhere

namespace causeway::jit {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> options_with(const std::string& level) {
  std::vector<std::string> options = {"-std=c++17",        level, "-shared", "-fPIC",
                                      "-ffp-contract=off", "-w"};
#if defined(__aarch64__)
  options.push_back("-D_Float16=__fp16");  // GCC has the former in C++ since version 13 only
#endif
  return options;
}

const std::vector<std::string> kOptions = options_with("-O2");
const std::vector<std::string> kBatchOptions = options_with("-O1");
constexpr const char* kEntry = "causeway_call";

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  std::istringstream folders(environment("PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// Which compiler it is, without running it.
std::string compiler_identity() {
  static const std::string identity = [] {
    std::error_code error;
    const fs::path file = fs::canonical(system_compiler(), error);
    return fmt::format("{} {} {}", file.string(), fs::file_size(file, error),
                       fs::last_write_time(file, error).time_since_epoch().count());
  }();
  return identity;
}

// The emitted function and one of that name which takes its arguments by address.
std::string whole_text(const lang::Emitted& emitted, const std::string& name = kEntry) {
  std::string call;
  for (std::size_t i = 0; i < emitted.params.size(); ++i) {
    call += fmt::format("{}*({}*)arguments[{}]", i > 0 ? ", " : "", emitted.params[i].type, i);
  }
  return fmt::format("{}\nextern \"C\" void {}(void** arguments) {{ {}({}); }}\n", emitted.text,
                     name, emitted.entry, call);
}

std::string batch_entry(std::size_t i) { return fmt::format("{}_{}", kEntry, i); }

// Each function has a namespace: types and functions of two kernels may share a name. Headers come
// first, so that the includes inside have no effect.
std::string batch_text(std::span<const lang::Emitted> functions, std::string_view preamble) {
  std::string text = "#include <cassert>\n#include <cmath>\n#include <cstdio>\n";
  text += preamble;
  for (std::size_t i = 0; i < functions.size(); ++i)
    text +=
        fmt::format("namespace kernel_{} {{\n{}}}\n", i, whole_text(functions[i], batch_entry(i)));
  return text;
}

std::string key_of(const std::string& text) {
  return DiskCache::key(
      {"c++", compiler_identity(), fmt::format("{}", fmt::join(kOptions, " ")), text});
}

// A folder that is removed with everything in it.
struct ScratchFolder {
  std::string path = (fs::temp_directory_path() / "causeway-XXXXXX").string();
  ScratchFolder() {
    if (::mkdtemp(path.data()) == nullptr) fail_io("kernel", "create", path, errno);
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
};

std::string read_text(const std::string& path) {
  const MappedFile file("kernel", path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Runs the program with both outputs in a file; returns its exit status.
int run(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail_io("kernel", "run", command[0], error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Bytes compile_text(const std::string& name, const std::string& text,
                   const std::vector<std::string>& options) {
  const ScratchFolder folder;
  const std::string source = folder.path + "/" + name + ".cpp";
  const std::string library = folder.path + "/" + name + ".so";
  const std::string log = folder.path + "/log";
  FileWriter writer("kernel", source);
  writer.write(text);
  writer.commit();
  std::vector<std::string> command{system_compiler()};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {source, "-o", library});
  if (run(command, log) != 0) {
    fail(ErrorKind::compile, "kernel " + name,
         fmt::format("{} refused the C++ text:\n{}", system_compiler(), read_text(log)));
  }
  const MappedFile file("kernel", library);
  return {file.bytes().begin(), file.bytes().end()};
}

// Loads a shared library. Its file is new: dlopen takes two libraries of one path for the same.
void* load(const std::string& name, const Bytes& library) {
  const ScratchFolder folder;
  const std::string path = folder.path + "/" + name + ".so";
  FileWriter writer("kernel", path);
  writer.write(library);
  writer.commit();
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(ErrorKind::compile, "kernel " + name, ::dlerror());
  return handle;
}

void require_compiler() {
  if (system_compiler().empty()) {
    fail(ErrorKind::compile, "kernel", "there is no C++ compiler; set CXX to one");
  }
}

}  // namespace

const std::string& system_compiler() {
  static const std::string found = [] {
    if (const auto given = environment("CXX")) return find_program(*given);
    for (const char* name : {"c++", "g++", "clang++"}) {
      if (std::string path = find_program(name); !path.empty()) return path;
    }
    return std::string();
  }();
  return found;
}

bool is_native_cached(const lang::Emitted& emitted) {
  return !system_compiler().empty() && DiskCache::shared().has(key_of(whole_text(emitted)));
}

NativeFunction compile_native(const lang::Emitted& emitted) {
  require_compiler();
  const std::string text = whole_text(emitted);
  const std::string key = key_of(text);
  std::optional<Bytes> library = DiskCache::shared().find(key);
  if (!library) {
    library = compile_text(emitted.entry, text, kOptions);
    DiskCache::shared().store(key, *library);
  }
  return reinterpret_cast<NativeFunction>(::dlsym(load(emitted.entry, *library), kEntry));
}

NativeBatch::NativeBatch(std::span<const lang::Emitted> functions, std::string_view preamble) {
  require_compiler();
  library_ = load("batch", compile_text("batch", batch_text(functions, preamble), kBatchOptions));
  for (std::size_t i = 0; i < functions.size(); ++i)
    calls_.push_back(reinterpret_cast<NativeFunction>(::dlsym(library_, batch_entry(i).c_str())));
}

NativeBatch::~NativeBatch() { ::dlclose(library_); }

}  // namespace causeway::jit
