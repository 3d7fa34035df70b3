// Measures launches on a GPU.
#pragma once

#include "causeway/pairs/backend.h"

#include <span>
#include <vector>

namespace causeway::pairs {

// The input set with sizes for about a million threads.
InputSet timing_set(const Program& program);

// Microseconds of the first launch of each task, one task after the other: the best of several
// launches of optimised code. Throws device and compile errors.
std::vector<double> time_on_gpu(std::span<const BackendTask> tasks, Device device,
                                jit::WorkerProcesses* workers);

}  // namespace causeway::pairs
