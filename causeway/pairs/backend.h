// What a check of another backend takes: kernels and the launches on which it must agree with the
// interpreter.
#pragma once

#include "causeway/jit/worker_processes.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/pairs/record.h"
#include "causeway/runtime/device_code.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::pairs {

struct Launch {
  const Program* program = nullptr;
  InputSet set;

  std::vector<std::int64_t> dims() const { return launch_dims(*program, set); }
};

struct BackendTask {
  const Compiled* compiled = nullptr;
  Tolerance tolerance = Tolerance::exact;
  std::vector<Launch> launches;
  lang::LaunchForm form = lang::LaunchForm::grid_stride;  // of the CUDA text
  // CUDA text to run instead of the emitted one; its kernel has the name and parameters of the
  // emitted one, so it is compiled alone.
  std::string text = {};

  const lang::Module& module() const { return compiled->module; }
  const lang::Function& function() const { return compiled->function(); }
  Memory inputs(const Launch& launch) const {
    return make_memory(*launch.program, launch.set, module(), function());
  }
  // Kernels that are compiled together have different names.
  lang::Emitted emit(lang::Dialect dialect, std::string name) const;
  // Interprets the launch on `inputs` and compares with what the backend wrote; empty where they
  // agree.
  std::string compare(const Launch& launch, Memory inputs, const Memory& found) const;
};

// Processes that compile for that many threads; none for one or two, which rarely wait for each
// other in NVRTC.
std::unique_ptr<jit::WorkerProcesses> compile_workers_for(int threads);

// The grid with which a CUDA kernel of that form runs a launch.
GridSize grid_of(lang::LaunchForm form, std::span<const std::int64_t> dims);

}  // namespace causeway::pairs
