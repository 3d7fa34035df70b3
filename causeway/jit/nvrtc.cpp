#include "causeway/jit/nvrtc.h"

#include "causeway/core/environment.h"
#include "causeway/core/log.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <shared_mutex>
#include <thread>

namespace causeway::jit {

namespace {

namespace fs = std::filesystem;

using Program = struct NvrtcProgram*;
constexpr int kSuccess = 0;
constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION

// The functions that are used, declared here: a build without CUDA has no nvrtc.h.
struct Nvrtc {
  SharedLibrary library;
  template <class... Args>
  using Call = int (*)(Args...);
  Call<int*, int*> version = library.symbol<Call<int*, int*>>("nvrtcVersion");
  const char* (*error_text)(int) = library.symbol<const char* (*)(int)>("nvrtcGetErrorString");
  using Create =
      Call<Program*, const char*, const char*, int, const char* const*, const char* const*>;
  Create create = library.symbol<Create>("nvrtcCreateProgram");
  Call<Program*> destroy = library.symbol<Call<Program*>>("nvrtcDestroyProgram");
  using Compile = Call<Program, int, const char* const*>;
  Compile compile = library.symbol<Compile>("nvrtcCompileProgram");
  using Size = Call<Program, std::size_t*>;
  using Get = Call<Program, char*>;
  Size log_size = library.symbol<Size>("nvrtcGetProgramLogSize");
  Get log = library.symbol<Get>("nvrtcGetProgramLog");
  Size ptx_size = library.symbol<Size>("nvrtcGetPTXSize");
  Get ptx = library.symbol<Get>("nvrtcGetPTX");
  Size cubin_size = library.symbol<Size>("nvrtcGetCUBINSize");
  Get cubin = library.symbol<Get>("nvrtcGetCUBIN");

  int major = 0;
  int minor = 0;

  Nvrtc()
      : library(LibrarySearch{
            .name = "NVRTC",
            .files = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
            .wheels = {"cu13/lib", "cuda_nvrtc/lib"},
            .variable = "CAUSEWAY_NVRTC",
            .advice = "install a CUDA 13 toolkit, or pip install nvidia-cuda-nvrtc"}) {
    check(version(&major, &minor), "nvrtcVersion");
  }

  void check(int status, const char* call) const {
    if (status == kSuccess) return;
    fail(ErrorKind::compile, "NVRTC", fmt::format("{} failed: {}", call, error_text(status)));
  }
  std::string version_text() const { return fmt::format("{}.{}", major, minor); }

  Bytes read(Program program, Size size_of, Get get, const char* call) const {
    std::size_t size = 0;
    check(size_of(program, &size), call);
    Bytes content(size);
    if (size > 0) check(get(program, reinterpret_cast<char*>(content.data())), call);
    return content;
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc library;
  return library;
}

// Where cuda_fp16.h is: with the library, or with the toolkit. Empty if nowhere.
std::string include_folder() {
  std::vector<fs::path> folders;
  const fs::path library = fs::path(nvrtc().library.path()).parent_path();
  folders.push_back(library / "../include");
  folders.push_back(library / "../../../include");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto given = environment(variable)) folders.push_back(fs::path(*given) / "include");
  }
  folders.emplace_back("/usr/local/cuda/include");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / "cuda_fp16.h", error)) return fs::weakly_canonical(folder, error);
  }
  return "";
}

std::vector<std::string> option_list(const CudaOptions& options) {
  static const std::string headers = include_folder();
  std::vector<std::string> list{
      fmt::format("--gpu-architecture={}_{}", options.kind == CodeKind::ptx ? "compute" : "sm",
                  options.architecture),
      "--std=c++17", fmt::format("--fmad={}", options.contract)};
  if (options.fast_compile && options.kind == CodeKind::ptx) {
    list.emplace_back("--Ofast-compile=max");
  } else if (options.fast_compile) {
    // With "max", the optimizer inlines nothing and writes two to four times as much PTX, which
    // takes the assembler longer than the optimizer saves.
    list.emplace_back("--Ofast-compile=mid");
    list.emplace_back("--ptxas-options=--Ofast-compile=max");
  }
  if (options.line_info) list.emplace_back("-lineinfo");
  if (!headers.empty()) list.push_back("--include-path=" + headers);
  list.insert(list.end(), options.others.begin(), options.others.end());
  return list;
}

// One NVRTC program.
Bytes compile_uncached(const CudaSource& source, CodeKind kind,
                       const std::vector<std::string>& list) {
  const Nvrtc& api = nvrtc();
  Program program = nullptr;
  api.check(api.create(&program, source.text.c_str(), source.name.c_str(), 0, nullptr, nullptr),
            "nvrtcCreateProgram");
  struct Owner {
    const Nvrtc& api;
    Program program;
    ~Owner() { api.destroy(&program); }
  } const owner{api, program};
  std::vector<const char*> words;
  for (const std::string& option : list) words.push_back(option.c_str());
  const int status = api.compile(program, static_cast<int>(words.size()), words.data());
  if (status == kCompilation) {
    const Bytes log = api.read(program, api.log_size, api.log, "nvrtcGetProgramLog");
    std::string text(reinterpret_cast<const char*>(log.data()), log.size());
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    throw CudaCompileError(source.name, text);
  }
  api.check(status, "nvrtcCompileProgram");
  if (kind == CodeKind::cubin) {
    return api.read(program, api.cubin_size, api.cubin, "nvrtcGetCUBIN");
  }
  Bytes text = api.read(program, api.ptx_size, api.ptx, "nvrtcGetPTX");
  if (!text.empty() && text.back() == std::byte{0}) text.pop_back();
  return text;
}

// A thread that compiles holds locks of NVRTC, which nobody would release in a process that is
// forked during the compilation.
std::shared_mutex compiling_or_forking;

using Message = WorkerProcesses::Message;

Message request_for(const CudaSource& source, CodeKind kind, const std::vector<std::string>& list) {
  Message request{kind == CodeKind::cubin ? "cubin" : "ptx", source.name, source.text};
  request.insert(request.end(), list.begin(), list.end());
  return request;
}

// In a worker. The reply has one part, the code, or a second one, the log of a refusal.
Message compile_request(const Message& request) {
  const CodeKind kind = request[0] == "cubin" ? CodeKind::cubin : CodeKind::ptx;
  try {
    const Bytes code =
        compile_uncached({request[1], request[2]}, kind, {request.begin() + 3, request.end()});
    return {std::string(reinterpret_cast<const char*>(code.data()), code.size())};
  } catch (const CudaCompileError& error) {
    return {"", error.log()};
  }
}

Bytes compile_anywhere(const CudaSource& source, const CudaOptions& options,
                       const std::vector<std::string>& list) {
  if (options.workers != nullptr) {
    if (const auto reply = options.workers->call(request_for(source, options.kind, list))) {
      if (reply->size() > 1) throw CudaCompileError(source.name, (*reply)[1]);
      const std::string& code = reply->front();
      const auto* bytes = reinterpret_cast<const std::byte*>(code.data());
      return {bytes, bytes + code.size()};
    }
  }
  const std::shared_lock lock(compiling_or_forking);
  return compile_uncached(source, options.kind, list);
}

}  // namespace

CudaCompileError::CudaCompileError(const std::string& name, std::string log)
    : Error(ErrorKind::compile, fmt::format("[NVRTC] \"{}\" does not compile:\n{}", name, log)),
      log_(std::move(log)) {}

Bytes compile_cuda(const CudaSource& source, const CudaOptions& options) {
  const std::vector<std::string> list = option_list(options);
  const std::string key = DiskCache::key(
      {"cuda", nvrtc().version_text(), fmt::format("{}", fmt::join(list, "\n")), source.text});
  if (std::optional<Bytes> found = DiskCache::shared().find(key)) return std::move(*found);
  Bytes code = compile_anywhere(source, options, list);
  DiskCache::shared().store(key, code);
  return code;
}

std::vector<Bytes> compile_cuda(std::span<const CudaSource> sources, const CudaOptions& options) {
  nvrtc();  // an absent library is an error here, not one per text
  std::vector<Bytes> results(sources.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        results[i] = compile_cuda(sources[i], options);
      } catch (const Error& error) {
        logger::debug(error.what());
      }
    }
  };
  std::vector<std::thread> threads;
  std::size_t most = static_cast<std::size_t>(thread_count());
  if (options.workers != nullptr) most = std::max(most, options.workers->process_ids().size());
  const std::size_t wanted = std::min(sources.size(), most);
  for (std::size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::unique_ptr<WorkerProcesses> compile_workers(int count) {
  nvrtc();  // opened once, for all of them
  const std::unique_lock lock(compiling_or_forking);
  return std::make_unique<WorkerProcesses>(count, compile_request);
}

LibraryStatus nvrtc_status() {
  try {
    return {nvrtc().version_text(), nvrtc().library.path(), ""};
  } catch (const Error& error) {
    return {"", "", error.message()};
  }
}

}  // namespace causeway::jit
