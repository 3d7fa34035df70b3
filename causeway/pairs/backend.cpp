#include "causeway/pairs/backend.h"

#include "causeway/jit/nvrtc.h"
#include "causeway/pairs/compare.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::pairs {

lang::Emitted BackendTask::emit(lang::Dialect dialect, std::string name) const {
  lang::EmitOptions options;
  options.dialect = dialect;
  options.form = form;
  if (text.empty()) options.entry = std::move(name);
  lang::Emitted emitted = lang::emit(module(), compiled->kernel, options);
  if (!text.empty()) {
    emitted.text = text;
    emitted.kernel_begin = 0;
  }
  return emitted;
}

std::string BackendTask::compare(const Launch& launch, Memory inputs, const Memory& found) const {
  lang::Interpreter(module(), compiled->kernel)
      .launch(launch.dims(), inputs.arguments(module(), function()));
  const std::string problem =
      difference(*launch.program, module(), function(), inputs, found, tolerance);
  if (problem.empty()) return "";
  return fmt::format("{} on the input set {}", problem, name_of(launch.set.kind));
}

std::unique_ptr<jit::WorkerProcesses> compile_workers_for(int threads) {
  return threads > 2 ? jit::compile_workers(threads) : nullptr;
}

GridSize grid_of(lang::LaunchForm form, std::span<const std::int64_t> dims) {
  using lang::LaunchForm;
  const auto blocks = [](std::int64_t n, unsigned size) {
    return static_cast<unsigned>(std::max<std::int64_t>(1, (n + size - 1) / size));
  };
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  GridSize size;
  if (form == LaunchForm::one_element && dims.size() > 1) {
    size.block = dims.size() == 2 ? std::array{16U, 16U, 1U} : std::array{8U, 8U, 4U};
    for (std::size_t d = 0; d < dims.size(); ++d)  // x is the last coordinate
      size.grid[d] = blocks(dims[dims.size() - 1 - d], size.block[d]);
    return size;
  }
  if (form == LaunchForm::vectorized) total = (total + 3) / 4;
  // Reductions of few elements still run in several blocks.
  size.block[0] = form == LaunchForm::block_reduction && total < 4096 ? 32 : 256;
  size.grid[0] = blocks(total, size.block[0]);
  return size;
}

}  // namespace causeway::pairs
