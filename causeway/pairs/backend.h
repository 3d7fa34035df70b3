// What a check of another backend takes: kernels and the launches on which it must agree with the
// interpreter.
#pragma once

#include "causeway/pairs/record.h"

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

  const lang::Module& module() const { return compiled->module; }
  const lang::Function& function() const { return compiled->function(); }
  Memory inputs(const Launch& launch) const {
    return make_memory(*launch.program, launch.set, module(), function());
  }
  // Interprets the launch on `inputs` and compares with what the backend wrote; empty where they
  // agree.
  std::string compare(const Launch& launch, Memory inputs, const Memory& found) const;
};

}  // namespace causeway::pairs
