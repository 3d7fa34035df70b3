#include "causeway/pairs/cpp_check.h"

#include "causeway/core/error.h"
#include "causeway/jit/arguments.h"
#include "causeway/jit/native.h"
#include "causeway/pairs/parallel.h"

#include <algorithm>

namespace causeway::pairs {

namespace {

constexpr std::size_t kKernelsPerUnit = 64;

std::string run(const BackendTask& task, const lang::Emitted& emitted, jit::NativeFunction call) {
  for (const Launch& launch : task.launches) {
    Memory inputs = task.inputs(launch);
    Memory found = inputs;
    jit::BoundArguments arguments;
    arguments.list = found.arguments(task.module(), task.function());
    jit::PackedArguments packed(task.module(), task.function(), emitted, arguments, launch.dims());
    call(packed.addresses());
    std::string problem = task.compare(launch, std::move(inputs), found);
    if (!problem.empty()) return problem;
  }
  return "";
}

void check_unit(std::span<const BackendTask> tasks, std::span<CppResult> results) {
  std::vector<lang::Emitted> texts;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    lang::EmitOptions options;
    options.dialect = lang::Dialect::cpp;
    options.entry = "kernel_" + std::to_string(i);  // functions of one unit have different names
    texts.push_back(lang::emit(tasks[i].module(), tasks[i].compiled->kernel, options));
  }
  try {
    const jit::NativeBatch batch(texts);
    for (std::size_t i = 0; i < tasks.size(); ++i)
      results[i].problem = run(tasks[i], texts[i], batch[i]);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::compile) throw;
    if (tasks.size() == 1) {
      results[0] = {error.what(), false};
      return;
    }
    for (std::size_t i = 0; i < tasks.size(); ++i)  // some kernel is refused: find out which
      check_unit(tasks.subspan(i, 1), results.subspan(i, 1));
  }
}

}  // namespace

std::vector<CppResult> check_with_cpp(std::span<const BackendTask> tasks, int threads) {
  if (jit::system_compiler().empty())
    fail(ErrorKind::compile, "pairs", "there is no C++ compiler; set CXX to one");
  std::vector<CppResult> results(tasks.size());
  const std::size_t units = (tasks.size() + kKernelsPerUnit - 1) / kKernelsPerUnit;
  in_parallel(units, threads, [&](std::size_t unit) {
    const std::size_t first = unit * kKernelsPerUnit;
    const std::size_t count = std::min(kKernelsPerUnit, tasks.size() - first);
    check_unit(tasks.subspan(first, count), std::span(results).subspan(first, count));
  });
  return results;
}

}  // namespace causeway::pairs
