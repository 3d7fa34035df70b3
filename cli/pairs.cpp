#include "cli/pairs.h"

namespace causeway::cli {

void add_pairs(CLI::App& app) {
  CLI::App* pairs =
      app.add_subcommand("pairs", "Generate verified pairs of Python and CUDA kernels");
  pairs->require_subcommand(1);
  add_pairs_generate(*pairs);
  add_pairs_verify(*pairs);
  add_pairs_stats(*pairs);
  add_pairs_gallery(*pairs);
  add_pairs_export(*pairs);
}

CLI::Option* add_records(CLI::App& command, std::string& path) {
  return command
      .add_option("path", path, "Folder of a dataset, or a .json, .jsonl or .jsonl.zst file")
      ->type_name("PATH")
      ->required();
}

}  // namespace causeway::cli
