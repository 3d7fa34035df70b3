#include "causeway/pairs/cpp_check.h"

#include "causeway/core/error.h"
#include "causeway/jit/arguments.h"
#include "causeway/jit/native.h"
#include "causeway/pairs/emulation.h"
#include "causeway/pairs/parallel.h"

#include <algorithm>
#include <optional>

namespace causeway::pairs {

namespace {

constexpr std::size_t kKernelsPerUnit = 64;

// The functions of a translation unit.
class Unit {
 public:
  Unit(std::span<const BackendTask> tasks, CppText text)
      : emulated_(text == CppText::emulated_cuda) {
    const lang::Dialect dialect = emulated_ ? lang::Dialect::cuda : lang::Dialect::cpp;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      texts_.push_back(tasks[i].emit(dialect, "kernel_" + std::to_string(i)));
    if (emulated_) texts_.push_back(emulation_launcher());
    batch_.emplace(texts_, emulated_ ? emulation_preamble() : std::string_view());
  }

  // Where kernel i differs from the interpreter; empty where it agrees.
  std::string run(const BackendTask& task, std::size_t i) const {
    for (const Launch& launch : task.launches) {
      Memory inputs = task.inputs(launch);
      Memory found = inputs;
      jit::BoundArguments arguments;
      arguments.list = found.arguments(task.module(), task.function());
      const std::vector<std::int64_t> dims = launch.dims();
      jit::PackedArguments packed(task.module(), task.function(), texts_[i], arguments, dims);
      call(task, i, packed.addresses(), dims);
      std::string problem = task.compare(launch, std::move(inputs), found);
      if (!problem.empty()) return problem;
    }
    return "";
  }

 private:
  void call(const BackendTask& task, std::size_t i, void** addresses,
            std::span<const std::int64_t> dims) const {
    jit::NativeFunction function = (*batch_)[i];
    if (!emulated_) return function(addresses);
    GridSize size = grid_of(task.form, dims);
    bool barriers = task.form == lang::LaunchForm::block_reduction ||
                    task.text.find("__syncthreads") != std::string::npos;
    void* arguments[] = {&function, &addresses, size.grid.data(), size.block.data(), &barriers};
    (*batch_)[texts_.size() - 1](arguments);
  }

  bool emulated_;
  std::vector<lang::Emitted> texts_;
  std::optional<jit::NativeBatch> batch_;
};

void check_unit(std::span<const BackendTask> tasks, std::span<CppResult> results, CppText text) {
  try {
    const Unit unit(tasks, text);
    for (std::size_t i = 0; i < tasks.size(); ++i) results[i].problem = unit.run(tasks[i], i);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::compile) throw;
    if (tasks.size() == 1) {
      results[0] = {error.what(), false};
      return;
    }
    for (std::size_t i = 0; i < tasks.size(); ++i)  // some kernel is refused: find out which
      check_unit(tasks.subspan(i, 1), results.subspan(i, 1), text);
  }
}

}  // namespace

std::vector<CppResult> check_with_cpp(std::span<const BackendTask> tasks, int threads,
                                      CppText text) {
  if (jit::system_compiler().empty())
    fail(ErrorKind::compile, "pairs", "there is no C++ compiler; set CXX to one");
  std::vector<CppResult> results(tasks.size());
  const std::size_t units = (tasks.size() + kKernelsPerUnit - 1) / kKernelsPerUnit;
  in_parallel(units, threads, [&](std::size_t unit) {
    const std::size_t first = unit * kKernelsPerUnit;
    const std::size_t count = std::min(kKernelsPerUnit, tasks.size() - first);
    check_unit(tasks.subspan(first, count), std::span(results).subspan(first, count), text);
  });
  return results;
}

}  // namespace causeway::pairs
