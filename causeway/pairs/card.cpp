#include "causeway/pairs/card.h"

#include "causeway/core/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace causeway::pairs {

namespace {

std::string_view size_category(std::int64_t count) {
  if (count < 1'000) return "n<1K";
  if (count < 10'000) return "1K<n<10K";
  if (count < 100'000) return "10K<n<100K";
  if (count < 1'000'000) return "100K<n<1M";
  return "n>1M";
}

}  // namespace

std::string dataset_card(const DatasetConfig& config, const DatasetResult& result) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "---\nlicense: mit\ntask_categories:\n- text-generation\nlanguage:\n- "
                 "code\ntags:\n- cuda\n- python\n- kernels\n"
                 "size_categories:\n- {}\n",
                 size_category(result.written));
  if (config.format == Format::jsonl) {
    fmt::format_to(out, "configs:\n- config_name: default\n  data_files:\n");
    for (int i = 0; i < 3; ++i) {
      if (result.splits[static_cast<std::size_t>(i)] == 0) continue;
      const std::string_view split = name_of(static_cast<Split>(i));
      fmt::format_to(out, "  - split: {}\n    path: data/{}-*\n", split, split);
    }
  }
  fmt::format_to(out,
                 "---\n\n# Python kernels and their CUDA, verified\n\n"
                 "Each record pairs a kernel in Python (the language of NVIDIA Warp) with "
                 "standalone CUDA C++, its\n"
                 "gradient kernel, C++17 and typed IR. The programs are random and typed; no two "
                 "have the same structure\n"
                 "after names and constants are removed. Made by causeway {} with seed {}.\n\n",
                 kVersion, config.seed);
  fmt::format_to(
      out,
      "| column | content |\n|---|---|\n"
      "| `python_source` | the kernel, with its imports, structs and functions |\n"
      "| `cuda_forward` | standalone CUDA C++; compile with `nvcc` or NVRTC |\n"
      "| `cuda_backward` | the adjoint kernel; null where nothing has a gradient |\n"
      "| `cpp_forward` | the same computation as C++17 |\n"
      "| `ir` | typed SSA text |\n"
      "| `line_map` | pairs of lines: Python, CUDA |\n"
      "| `inputs` | three launches: sizes, how to fill the parameters, hash of the results |\n"
      "| `metadata` | id, category, description, difficulty, counts, verification, structure, "
      "split |\n\n");
  fmt::format_to(out,
                 "Checks of every record: {}. Splits are by cluster of structure: 90% of the "
                 "clusters train.\n\n",
                 fmt::join(config.verify, ", "));
  fmt::format_to(out, "| category | records |\n|---|---|\n");
  for (int i = 0; i < kCategories; ++i) {
    const std::int64_t n = result.categories[static_cast<std::size_t>(i)];
    if (n > 0) fmt::format_to(out, "| {} | {} |\n", name_of(static_cast<Category>(i)), n);
  }
  fmt::format_to(out, "\n| split | records |\n|---|---|\n");
  for (int i = 0; i < 3; ++i)
    fmt::format_to(out, "| {} | {} |\n", name_of(static_cast<Split>(i)),
                   result.splits[static_cast<std::size_t>(i)]);
  fmt::format_to(out, "\nEvery record carries the canary string `{}`.\n", kCanary);
  return text;
}

}  // namespace causeway::pairs
