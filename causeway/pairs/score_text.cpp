#include "causeway/pairs/score_text.h"

#include "causeway/core/error.h"
#include "causeway/jit/nvrtc.h"
#include "causeway/pairs/cpp_check.h"
#include "causeway/pairs/gpu_check.h"
#include "causeway/pairs/reproduced.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace causeway::pairs {

namespace {

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "const float* __restrict__ x" to "const float*".
std::string type_of_parameter(std::string text) {
  constexpr std::string_view kRestrict = "__restrict__";
  if (const std::size_t at = text.find(kRestrict); at != std::string::npos) {
    text.erase(at, kRestrict.size());
  }
  std::size_t end = text.size();
  while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
  while (end > 0 && is_name_letter(text[end - 1])) --end;  // the name
  std::string type;
  for (const char c : text.substr(0, end)) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && (type.empty() || type.back() == ' ')) continue;
    if (c == '*' && !type.empty() && type.back() == ' ') type.pop_back();
    type += space ? ' ' : c;
  }
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type;
}

// The parameter types of a __global__ function; nullopt if the text has no such function.
std::optional<std::vector<std::string>> parameter_types(std::string_view text,
                                                        const std::string& kernel) {
  const std::string head = "__global__ void " + kernel + "(";
  const std::size_t begin = text.find(head);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t first = begin + head.size();
  const std::size_t end = text.find(')', first);
  if (end == std::string_view::npos) return std::nullopt;
  std::vector<std::string> types;
  for (std::size_t at = first; at < end;) {
    const std::size_t comma = std::min(text.find(',', at), end);
    types.push_back(type_of_parameter(std::string(text.substr(at, comma - at))));
    at = comma + 1;
  }
  return types;
}

}  // namespace

std::string_view name_of(TextStage stage) {
  switch (stage) {
    case TextStage::none: return "none";
    case TextStage::parses: return "parses";
    case TextStage::compiles: return "compiles";
    case TextStage::runs: return "runs";
    case TextStage::agrees: break;
  }
  return "agrees";
}

TextScore score_text(std::string_view json, const std::string& cuda, bool gpu) {
  Reproduced reproduced;
  const RecordCheck check = reproduce(json, reproduced);
  if (!check.problem.empty()) fail(ErrorKind::invalid_argument, "pairs", check.problem);
  const std::string& kernel = reproduced.record.program.kernel;
  const auto found = parameter_types(cuda, kernel);
  if (!found.has_value()) {
    return {TextStage::none, fmt::format("there is no \"__global__ void {}(\"", kernel)};
  }
  if (found != parameter_types(reproduced.record.cuda_forward, kernel)) {
    return {TextStage::none, "the kernel has other parameters than the record's"};
  }
  try {
    jit::CudaOptions options;
    options.kind = jit::CodeKind::ptx;
    options.fast_compile = true;
    jit::compile_cuda({kernel + ".cu", cuda}, options);
  } catch (const jit::CudaCompileError& error) {
    return {TextStage::parses, error.log()};
  }
  BackendTask task{&reproduced.compiled, reproduced.record.tolerance, reproduced.launches};
  task.text = cuda;
  const std::span<const BackendTask> one(&task, 1);
  const std::string problem = gpu ? check_on_gpu(one, parse_device("cuda"), 1)[0].problem
                                  : check_with_cpp(one, 1, CppText::emulated_cuda)[0].problem;
  if (!problem.empty()) return {TextStage::runs, problem};
  return {TextStage::agrees, ""};
}

}  // namespace causeway::pairs
