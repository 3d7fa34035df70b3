// The program: registers the subcommands and runs the one given.
#include "cli/completion.h"
#include "cli/gpt.h"
#include "cli/help.h"
#include "cli/info.h"
#include "cli/kernel.h"
#include "cli/man.h"
#include "cli/predict.h"
#include "cli/pretrain.h"
#include "cli/pairs.h"
#include "cli/prior.h"
#include "cli/quantize.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/tokenizer.h"

int main(int argc, char** argv) {
  CLI::App app("Generates training data for foundation models on the GPU and trains on it there.",
               "causeway");
  app.set_version_flag("-V,--version", causeway::cli::version_line, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.formatter(causeway::cli::help_formatter());
  app.require_subcommand(1);
  causeway::cli::add_info(app);
  causeway::cli::add_prior(app);
  causeway::cli::add_pairs(app);
  causeway::cli::add_tokenizer(app);
  causeway::cli::add_kernel(app);
  causeway::cli::add_gpt(app);
  causeway::cli::add_pretrain(app);
  causeway::cli::add_predict(app);
  causeway::cli::add_evaluate(app);
  causeway::cli::add_quantize(app);
  causeway::cli::add_report(app);
  causeway::cli::add_completion(app);
  causeway::cli::add_man(app);
  causeway::cli::add_help(app);
  return causeway::cli::run_program(app, argc, argv);
}
