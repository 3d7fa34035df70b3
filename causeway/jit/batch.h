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
  std::string log;                    // why it was refused; empty otherwise
};

// Kernels of the next program where `rest` are left for that many compilers. A program costs as
// much as some kernels before its first one, so they are large; the last ones are smaller, so that
// no compiler waits long for another.
std::size_t program_size(std::size_t rest, std::size_t compilers);

using Members = std::vector<std::size_t>;  // kernels of a program, by index

// The kernels of each program for that many compilers. Kernels with the same definitions are
// compiled together. The longest programs come first.
std::vector<Members> divide(std::span<const lang::Emitted> kernels, std::size_t compilers);

// One result per kernel. The names to launch (Emitted::entry) must differ. Where
// `kernels_per_program` is 0, program_size chooses. With fast_compile, types and functions that
// kernels of a program define with the same text are compiled once.
std::vector<BatchResult> compile_batch(std::span<const lang::Emitted> kernels,
                                       const CudaOptions& options,
                                       std::size_t kernels_per_program = 0);

}  // namespace causeway::jit
