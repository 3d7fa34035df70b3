#include "cli/prior.h"

namespace causeway::cli {

void add_prior(CLI::App& app) {
  CLI::App* prior =
      app.add_subcommand("prior", "Generate synthetic datasets from structural causal models");
  prior->require_subcommand(1);
  add_prior_generate(*prior);
  add_prior_gallery(*prior);
  add_prior_stats(*prior);
  add_prior_describe(*prior);
}

}  // namespace causeway::cli
