#include "causeway/prior/recipe.h"

#include <algorithm>

namespace causeway::prior {

namespace {

Span span_of(const CountRange& range) { return {range.low, range.high, range.logarithmic}; }

// Columns of values that an attempt may hold at once, and room for parameters. Attempts that need
// more are rejected.
constexpr std::int64_t kArenaColumns = 4096;
constexpr std::int64_t kLeastArena = std::int64_t{1} << 20;

}  // namespace

Recipe recipe_of(const PriorConfig& config) {
  Recipe recipe;
  const auto& names = family_names();
  recipe.family =
      static_cast<Family>(std::find(names.begin(), names.end(), config.family) - names.begin());
  if (config.family == "mix") {
    std::transform(config.mix.begin(), config.mix.end(), recipe.mix,
                   [](double weight) { return static_cast<float>(weight); });
  }
  recipe.rows = span_of(config.rows);
  recipe.features = span_of(config.features);
  recipe.classes = config.regression ? Span{0, 0} : span_of(config.classes);
  recipe.binary_share = static_cast<float>(config.binary_share);
  std::transform(config.rule_weights.begin(), config.rule_weights.end(), recipe.rules,
                 [](double weight) { return static_cast<float>(weight); });
  recipe.skewed_share = static_cast<float>(config.skewed_share);
  recipe.train_low = static_cast<float>(config.train_low);
  recipe.train_high = static_cast<float>(config.train_high);
  recipe.missing_low = static_cast<float>(config.missing_low);
  recipe.missing_high = static_cast<float>(config.missing_high);
  recipe.balanced = config.balanced;
  recipe.drop_constant = config.filter_constant;
  recipe.check_classes = config.filter_classes;
  recipe.predictable = config.filter_predictable;
  recipe.remove_trivial = config.filter_trivial;
  recipe.graph.min_nodes = config.min_nodes;
  recipe.graph.max_nodes = config.max_nodes;
  recipe.graph.edge_offset = static_cast<float>(config.edge_offset);
  recipe.graph.noise = config.graph_noise;
  recipe.graph.max_categories = config.max_categories;
  recipe.graph.even_choices = config.reference_choices;
  recipe.graph.warp_node_values = config.reference_warps;
  recipe.graph.few_categories = config.reference_categories;
  recipe.arena_floats = std::max(kLeastArena, kArenaColumns * padded_rows(config.rows.high));
  return recipe;
}

}  // namespace causeway::prior
