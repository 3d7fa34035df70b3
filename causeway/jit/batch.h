// Many kernels compiled with few NVRTC programs, in parallel: one program costs 20 ms before its
// first kernel.
#pragma once

#include "causeway/jit/nvrtc.h"
#include "causeway/lang/emit/emit.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::jit {

struct BatchResult {
  std::shared_ptr<const Bytes> code;  // shared by the kernels of a program; null if refused
  std::string log;                    // why it was refused
};

// One result per kernel. The names to launch (Emitted::entry) must differ.
std::vector<BatchResult> compile_batch(std::span<const lang::Emitted> kernels,
                                       const CudaOptions& options,
                                       std::size_t kernels_per_program = 100);

}  // namespace causeway::jit
