// Compiles emitted C++ with the system's compiler, runs it and compares what it writes with the
// interpreter.
#pragma once

#include "causeway/pairs/backend.h"

#include <span>
#include <string>
#include <vector>

namespace causeway::pairs {

struct CppResult {
  std::string problem;   // empty where all launches agree
  bool compiled = true;  // the compiler accepts the text
};

enum class CppText : std::uint8_t {
  emitted,        // the C++ dialect
  emulated_cuda,  // the CUDA text with a preamble that emulates a GPU; no half precision
};

// One result per task; the kernels of several tasks are one translation unit. Throws a compile
// error where there is no compiler.
std::vector<CppResult> check_with_cpp(std::span<const BackendTask> tasks, int threads,
                                      CppText text = CppText::emitted);

}  // namespace causeway::pairs
