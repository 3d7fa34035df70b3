#include "causeway/jit/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace causeway::jit {

namespace {

constexpr std::string_view kHalfHeader = "#include <cuda_fp16.h>\n";

// One text of several kernels. Each has a namespace: types and functions of two kernels may share a
// name.
std::string joined(std::span<const lang::Emitted> kernels) {
  std::string text;
  const bool half = std::any_of(kernels.begin(), kernels.end(),
                                [](const lang::Emitted& kernel) { return kernel.uses_half; });
  if (half) text += kHalfHeader;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::string body = kernels[i].text;
    if (const std::size_t at = body.find(kHalfHeader); at != std::string::npos) {
      body.erase(at, kHalfHeader.size());
    }
    text += fmt::format("namespace kernel_{} {{\n{}}}\n", i, body);
  }
  return text;
}

void require_distinct(std::span<const lang::Emitted> kernels) {
  std::set<std::string_view> names;
  for (const lang::Emitted& kernel : kernels) {
    if (names.insert(kernel.entry).second) continue;
    fail(ErrorKind::invalid_argument, "compile_batch",
         fmt::format("two kernels are called \"{}\"; give each its own EmitOptions::entry",
                     kernel.entry));
  }
}

BatchResult compile_alone(const lang::Emitted& kernel, const CudaOptions& options) {
  try {
    return {
        std::make_shared<const Bytes>(compile_cuda({kernel.entry + ".cu", kernel.text}, options)),
        ""};
  } catch (const CudaCompileError& error) {
    return {nullptr, error.log()};
  }
}

}  // namespace

std::vector<BatchResult> compile_batch(std::span<const lang::Emitted> kernels,
                                       const CudaOptions& options,
                                       std::size_t kernels_per_program) {
  require_distinct(kernels);
  std::vector<CudaSource> programs;
  for (std::size_t first = 0; first < kernels.size(); first += kernels_per_program) {
    const std::size_t count = std::min(kernels_per_program, kernels.size() - first);
    programs.push_back(
        {fmt::format("batch_{}.cu", programs.size()), joined(kernels.subspan(first, count))});
  }
  std::vector<Bytes> codes = compile_cuda(programs, options);
  std::vector<BatchResult> results(kernels.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t first = i * kernels_per_program;
    const std::size_t end = std::min(first + kernels_per_program, kernels.size());
    if (codes[i].empty()) {  // some kernel of it is refused: find out which
      for (std::size_t k = first; k < end; ++k) results[k] = compile_alone(kernels[k], options);
      continue;
    }
    const auto shared = std::make_shared<const Bytes>(std::move(codes[i]));
    for (std::size_t k = first; k < end; ++k) results[k].code = shared;
  }
  return results;
}

}  // namespace causeway::jit
