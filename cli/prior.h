// `causeway prior generate|gallery|stats|describe`: synthetic tables from structural causal models.
#pragma once

#include <CLI/CLI.hpp>

namespace causeway::cli {

void add_prior(CLI::App& app);

void add_prior_generate(CLI::App& prior);
void add_prior_gallery(CLI::App& prior);
void add_prior_stats(CLI::App& prior);
void add_prior_describe(CLI::App& prior);

}  // namespace causeway::cli
