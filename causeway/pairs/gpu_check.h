// Runs kernels on a GPU and compares what they write with the interpreter.
#pragma once

#include "causeway/pairs/backend.h"
#include "causeway/runtime/device_code.h"

#include <span>
#include <string>
#include <vector>

namespace causeway::pairs {

struct GpuResult {
  std::string problem;        // empty where all launches agree
  bool compiled = true;       // NVRTC accepts the text
  KernelResources resources;  // of the loaded kernel
};

// Throws a device error if there is no GPU for the check.
void require_gpu();

// One result per task. Each of the threads compiles the kernels of several tasks to one cubin,
// loads it and launches them on a stream of its own, so that the GPU works while others compile.
// With worker processes, twice as many threads are used, and at most half of them compute for long.
// `last`: as of Stream::finish. Throws device errors.
std::vector<GpuResult> check_on_gpu(std::span<const BackendTask> tasks, Device device, int threads,
                                    jit::WorkerProcesses* workers = nullptr, bool last = true);

}  // namespace causeway::pairs
