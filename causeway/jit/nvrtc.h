// CUDA C++ text to device code by NVRTC, which is opened at first use and needs no GPU. Results
// come from the disk cache where they can.
#pragma once

#include "causeway/core/error.h"
#include "causeway/core/library.h"
#include "causeway/jit/disk_cache.h"
#include "causeway/jit/worker_processes.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::jit {

enum class CodeKind : std::uint8_t { cubin, ptx };

struct CudaOptions {
  int architecture = 90;  // compute capability times ten
  CodeKind kind = CodeKind::cubin;
  // Compiles several times faster, to code that may run slower.
  bool fast_compile = false;
  // For compile_batch: math functions such as sinf are compiled once in a program and called, not
  // inlined at every use. The results are the same, and the code of a kernel does not depend on the
  // others of its program.
  bool call_math = false;
  // Fused multiply-adds where the text has a product and a sum. Off, the bits are those of the CPU.
  bool contract = false;
  bool line_info = false;                // for profilers, and .loc lines in PTX
  std::vector<std::string> others = {};  // further options of NVRTC
  WorkerProcesses* workers = nullptr;    // of compile_workers; where null, this process compiles
};

// One text; `name` is shown in messages.
struct CudaSource {
  std::string name;
  std::string text;
};

// NVRTC refused the text; the log is its own.
class CudaCompileError : public Error {
 public:
  CudaCompileError(const std::string& name, std::string log);
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

// Throws CudaCompileError, and a device error if NVRTC is not found.
Bytes compile_cuda(const CudaSource& source, const CudaOptions& options = {});

// The same for many texts, in parallel. An empty result is a text that NVRTC refused.
std::vector<Bytes> compile_cuda(std::span<const CudaSource> sources, const CudaOptions& options);

// Processes that compile. NVRTC holds a lock during the first part of a compilation, so that more
// than a few threads of one process wait for each other. The code is the same as without them; a
// text whose worker is lost is compiled in this process.
std::unique_ptr<WorkerProcesses> compile_workers(int count);

// Version and path, or why there is none.
LibraryStatus nvrtc_status();

}  // namespace causeway::jit
