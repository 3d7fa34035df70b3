// C++ text to functions of this process by the system's compiler. Results come from the disk cache
// where they can.
#pragma once

#include "causeway/lang/emit/emit.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::jit {

// Takes the addresses of the function's arguments (PackedArguments).
using NativeFunction = void (*)(void** arguments);

// The compiler: the one CXX names, else c++, g++ or clang++ on the PATH; empty if there is none.
const std::string& system_compiler();

// Compiles emitted C++ without contraction, so that it gives the interpreter's bits. The function
// stays loaded until the process ends. Throws compile errors with the compiler's log.
NativeFunction compile_native(const lang::Emitted& emitted);

// Whether compile_native would find it on disk.
bool is_native_cached(const lang::Emitted& emitted);

// Many emitted functions compiled as one translation unit, optimised little and not cached; for
// functions that run once. Unloaded with the object. Throws compile errors with the compiler's log.
class NativeBatch {
 public:
  // `preamble` precedes the functions.
  explicit NativeBatch(std::span<const lang::Emitted> functions, std::string_view preamble = {});
  ~NativeBatch();
  NativeBatch(const NativeBatch&) = delete;
  NativeBatch& operator=(const NativeBatch&) = delete;

  NativeFunction operator[](std::size_t i) const { return calls_[i]; }

 private:
  void* library_ = nullptr;
  std::vector<NativeFunction> calls_;
};

}  // namespace causeway::jit
