#include "cli/gpt.h"

namespace causeway::cli {

void add_gpt(CLI::App& app) {
  CLI::App* gpt = app.add_subcommand("gpt", "Prepare text for language models");
  gpt->require_subcommand(1);
  add_gpt_tokenize(*gpt);
}

}  // namespace causeway::cli
