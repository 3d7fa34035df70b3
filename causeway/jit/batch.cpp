#include "causeway/jit/batch.h"

#include "causeway/jit/joined_text.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>

namespace causeway::jit {

namespace {

// Renames the math functions in the kernels to functions that are not inlined: the body of sinf or
// pow is much longer than most kernels. Unused ones cost nothing. The optimizer treats a program
// without any of them differently, so a kernel that nobody launches uses one.
std::string math_functions() {
  std::string text;
  const auto add = [&](std::string_view type, std::string_view suffix,
                       std::initializer_list<std::string_view> names, bool binary) {
    for (const std::string_view name : names) {
      text += fmt::format(
          "static __device__ __noinline__ {0} called_{1}{2}({0} x{3}) {{ return {1}{2}(x{4}); }}\n"
          "#define {1}{2} called_{1}{2}\n",
          type, name, suffix, binary ? fmt::format(", {} y", type) : "", binary ? ", y" : "");
    }
  };
  for (const auto& [type, suffix] : {std::pair{"float", "f"}, std::pair{"double", ""}}) {
    add(type, suffix,
        {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log2",
         "log10", "cbrt", "erf", "erfc", "erfinv", "erfcinv"},
        false);
    add(type, suffix, {"pow", "atan2", "fmod"}, true);
  }
  return text + "extern \"C\" __global__ void called_none(float* x) { *x = sinf(*x); }\n";
}

std::string program_text(std::span<const lang::Emitted> kernels, const Members& members,
                         const CudaOptions& options) {
  static const std::string functions = math_functions();
  // Other optimizations inline a function here and there, depending on its other uses.
  const bool share = options.fast_compile && members.size() > 1;
  return joined_text(kernels, members, share ? Definitions::shared : Definitions::separate,
                     options.call_math ? functions : "");
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

// The programs of these kernels; `next_size` says how many of the rest are in the next one.
template <class F>
std::vector<Members> divided(std::span<const lang::Emitted> kernels,
                             std::span<const std::size_t> members, const F& next_size) {
  std::vector<Members> programs;
  while (!members.empty()) {
    const auto chosen = members.first(next_size(members.size()));
    programs.emplace_back(chosen.begin(), chosen.end());
    members = members.subspan(chosen.size());
  }
  std::ranges::stable_sort(programs, std::greater(), [&](const Members& program) {
    std::size_t size = 0;
    for (const std::size_t i : program) size += kernels[i].text.size();
    return size;
  });
  return programs;
}

std::vector<Members> programs_of(std::span<const lang::Emitted> kernels, const CudaOptions& options,
                                 std::size_t kernels_per_program) {
  Members alone;
  Members others;
  for (const std::size_t i : order_by_definitions(kernels)) {
    // The functions of cuda_fp16.h are inlined here and there, depending on their other uses.
    (options.call_math && kernels[i].uses_half ? alone : others).push_back(i);
  }
  const std::size_t compilers = options.workers != nullptr
                                    ? options.workers->process_ids().size()
                                    : static_cast<std::size_t>(thread_count());
  std::vector<Members> programs = divided(kernels, others, [&](std::size_t rest) {
    return kernels_per_program > 0 ? std::min(rest, kernels_per_program)
                                   : program_size(rest, compilers);
  });
  for (const std::size_t i : alone) programs.push_back({i});
  return programs;
}

BatchResult compile_alone(const lang::Emitted& kernel, const CudaOptions& options) {
  if (options.call_math) {  // the code must not depend on the other kernels of the program
    const CudaSource source{kernel.entry + ".cu",
                            program_text(std::span(&kernel, 1), {0}, options)};
    Bytes code = compile_cuda(std::span(&source, 1), options).front();
    if (!code.empty()) return {std::make_shared<const Bytes>(std::move(code)), ""};
  }
  try {
    return {
        std::make_shared<const Bytes>(compile_cuda({kernel.entry + ".cu", kernel.text}, options)),
        ""};
  } catch (const CudaCompileError& error) {
    return {nullptr, error.log().empty() ? error.what() : error.log()};
  }
}

}  // namespace

std::size_t program_size(std::size_t rest, std::size_t compilers) {
  constexpr std::size_t kLeast = 16;
  constexpr std::size_t kMost = 192;
  const std::size_t share = rest / std::max<std::size_t>(compilers, 1);
  return std::min(rest, std::clamp(share, kLeast, kMost));
}

std::vector<Members> divide(std::span<const lang::Emitted> kernels, std::size_t compilers) {
  return divided(kernels, order_by_definitions(kernels),
                 [&](std::size_t rest) { return program_size(rest, compilers); });
}

std::vector<BatchResult> compile_batch(std::span<const lang::Emitted> kernels,
                                       const CudaOptions& options,
                                       std::size_t kernels_per_program) {
  require_distinct(kernels);
  const std::vector<Members> members = programs_of(kernels, options, kernels_per_program);
  std::vector<CudaSource> programs;
  for (const Members& program : members)
    programs.push_back(
        {fmt::format("batch_{}.cu", programs.size()), program_text(kernels, program, options)});
  std::vector<Bytes> codes = compile_cuda(programs, options);
  std::vector<BatchResult> results(kernels.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i].empty()) {  // some kernel of it is refused: find out which
      for (const std::size_t k : members[i]) results[k] = compile_alone(kernels[k], options);
      continue;
    }
    const auto shared = std::make_shared<const Bytes>(std::move(codes[i]));
    for (const std::size_t k : members[i]) results[k].code = shared;
  }
  return results;
}

}  // namespace causeway::jit
