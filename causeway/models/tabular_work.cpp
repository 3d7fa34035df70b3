#include "causeway/models/tabular_work.h"

#include "causeway/models/tabular.h"

namespace causeway::models {

TabularWork::TabularWork(const TabularConfig& config, std::int64_t n_rows, std::int64_t n_features,
                         std::int64_t n_keys, bool is_context) {
  const auto w = static_cast<double>(config.width);
  const auto rows = static_cast<double>(n_rows);
  const auto columns = static_cast<double>(config.tokens(n_features));
  const double project = config.projection ? 2 * w * w : 0;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const bool target_only = i + 1 == config.layers && !config.mean_readout;
    const bool ends_here =
        i + 1 == config.layers && is_context && config.decoder == TabularDecoder::linear;
    const double tokens = target_only ? rows : rows * columns;
    Layer layer;
    layer.columns = rows * columns * 4 * w * w + tokens * (2 * w * w + 4 * w * columns + project);
    const bool columns_first = config.layer_order == LayerOrder::columns_rows_mlp;
    const double others = columns_first ? tokens : rows * columns;  // tokens of the other branches
    if (ends_here && !columns_first) layer.columns = 0;
    if (is_context) layer.projections = others * (ends_here ? 4 : 6) * w * w;
    if (!ends_here) {
      const double queries = is_context ? 0 : 2 * w * w;
      layer.rows = others * (queries + 4 * w * static_cast<double>(n_keys) + project);
      layer.mlp = others * 4 * w * static_cast<double>(config.hidden);
    }
    layers_.push_back(layer);
  }
}

TabularWork TabularWork::of_context(const TabularConfig& config, std::int64_t n_rows,
                                    std::int64_t n_features) {
  const std::int64_t all_rows = n_rows + config.thinking;
  return {config, all_rows, n_features, all_rows, true};
}

TabularWork TabularWork::of_query(const TabularConfig& config, std::int64_t n_rows,
                                  std::int64_t n_features, std::int64_t n_context) {
  return {config, n_rows, n_features, n_context + config.thinking, false};
}

double TabularWork::total() const {
  double sum = 0;
  for (const Layer& layer : layers_) {
    sum += layer.columns + layer.projections + layer.rows + layer.mlp;
  }
  return sum;
}

}  // namespace causeway::models
