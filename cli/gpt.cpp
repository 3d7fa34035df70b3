#include "cli/gpt.h"

namespace causeway::cli {

void add_gpt(CLI::App& app) {
  CLI::App* gpt = app.add_subcommand("gpt", "Train language models on text and generate text");
  gpt->require_subcommand(1);
  add_gpt_tokenize(*gpt);
  add_gpt_train(*gpt);
  add_gpt_sample(*gpt);
  add_gpt_import(*gpt);
  add_gpt_export(*gpt);
}

}  // namespace causeway::cli
