#include "causeway/pairs/backend.h"

#include "causeway/pairs/compare.h"

#include <fmt/format.h>

namespace causeway::pairs {

std::string BackendTask::compare(const Launch& launch, Memory inputs, const Memory& found) const {
  lang::Interpreter(module(), compiled->kernel)
      .launch(launch.dims(), inputs.arguments(module(), function()));
  const std::string problem =
      difference(*launch.program, module(), function(), inputs, found, tolerance);
  if (problem.empty()) return "";
  return fmt::format("{} on the input set {}", problem, name_of(launch.set.kind));
}

}  // namespace causeway::pairs
