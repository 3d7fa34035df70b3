// Small batches of tables for tests of models.
#pragma once

#include "causeway/models/tabular.h"
#include "tests/tensor/devices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace causeway {

struct TableSize {
  std::int64_t rows;
  std::int64_t features;
  std::int64_t known;
};

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Padding is NaN, so that reading it shows.
inline models::Tables draw_tables(const std::vector<TableSize>& tables, std::int64_t n_classes,
                                  std::uint64_t seed, TableSize room = {0, 0, 0}) {
  for (const TableSize& table : tables) {
    room.rows = std::max(room.rows, table.rows);
    room.features = std::max(room.features, table.features);
  }
  const auto n_tables = static_cast<std::int64_t>(tables.size());
  models::Tables made{full({n_tables, room.rows, room.features}, kNaN),
                      full({n_tables, room.rows}, kNaN), Tensor::empty({n_tables, 3}, DType::i64)};
  for (std::int64_t k = 0; k < n_tables; ++k) {
    const auto [rows, features, known] = tables[static_cast<std::size_t>(k)];
    Generator generator(seed + static_cast<std::uint64_t>(k));
    const Tensor x = generator.normal({rows, features}, 3, 5);
    const Tensor y = n_classes > 0 ? generator.integers({rows}, 0, n_classes).to(DType::f32)
                                   : generator.normal({rows}, -2, 7);
    made.x.select(0, k).slice(0, 0, rows).slice(1, 0, features).copy_from(x);
    made.y.select(0, k).slice(0, 0, rows).copy_from(y);
    const std::array<std::int64_t, 3> size = {rows, features, known};
    made.sizes.select(0, k).copy_from(Tensor::from<std::int64_t>(size, {3}));
  }
  return made;
}

inline Tensor logits_of(models::TabularTransformer& model, const models::Tables& tables) {
  const autograd::NoGrad no_grad;
  return model.logits(tables);
}

// For draw_tables.
inline std::int64_t classes_of(const models::TabularConfig& config) {
  return config.is_regression() ? 0 : std::min<std::int64_t>(config.classes, 3);
}

// A small configuration of a preset's kind.
inline models::TabularConfig small(std::string_view preset, bool regression = false) {
  models::TabularConfig config = models::TabularConfig::preset(preset);
  config.width = 16;
  config.heads = 2;
  config.hidden = 24;
  config.layers = 2;
  if (config.thinking > 0) config.thinking = 3;
  if (preset == "default") config.classes = 4;
  if (regression) {
    config.classes = 0;
    config.bins = 8;
    config.class_as_number = false;
  }
  return config;
}

inline std::vector<models::TabularConfig> small_ones() {
  std::vector<models::TabularConfig> all = {small("default"), small("nanotabpfn"),
                                            small("speedrun"), small("default", true),
                                            small("nanotabpfn", true)};
  const auto add = [&](const char* preset, bool regression, auto&& change) {
    all.push_back(small(preset, regression));
    change(all.back());
  };
  const auto label_cells = [](models::TabularConfig& config) {
    config.labels = models::LabelPlacement::cells;
  };
  add("default", false, label_cells);
  add("nanotabpfn", false, label_cells);  // classes as numbers, fused encoder
  add("default", true, label_cells);
  const auto expand_cells = [](models::TabularConfig& config) {
    config.cell_encoding = models::CellEncoding::radial;
  };
  const auto scale_softmax = [](models::TabularConfig& config) { config.scaled_softmax = true; };
  add("default", false, scale_softmax);
  add("nanotabpfn", true, scale_softmax);
  const auto retrieve = [](models::TabularConfig& config) {
    config.class_as_number = false;
    config.decoder = models::TabularDecoder::retrieval;
  };
  add("default", false, retrieve);
  add("speedrun", false, retrieve);
  const auto rows_first = [](models::TabularConfig& config) {
    config.layer_order = models::LayerOrder::rows_mlp_columns;
  };
  add("default", false, rows_first);
  add("nanotabpfn", true, rows_first);
  add("speedrun", false, rows_first);
  add("default", false, [&](models::TabularConfig& config) {
    rows_first(config);
    retrieve(config);
  });
  const auto without_biases = [](models::TabularConfig& config) { config.biases = false; };
  add("default", false, without_biases);
  add("nanotabpfn", true, without_biases);
  add("default", false, [](models::TabularConfig& config) {  // of more than 16 features
    config.columns_per_token = 2;
    config.mean_readout = true;
  });
  add("default", false, expand_cells);
  add("speedrun", false, expand_cells);
  add("nanotabpfn", true, expand_cells);
  return all;
}

// Gives scaled_softmax scales that differ from 1.
inline void draw_scales(models::TabularTransformer& model) {
  Generator generator(17);
  for (const auto& [name, parameter] : model.named_parameters()) {
    if (name.find(".scale.") == std::string::npos) continue;
    const Tensor drawn = generator.uniform(parameter.shape(), 0.2, 0.7, DType::f64);
    autograd::detach(parameter).copy_from(drawn.to(parameter.dtype()).to(parameter.device()));
  }
}

inline std::string name_of(const models::TabularConfig& config) { return config.to_json(); }

// The logits of the query rows of table k.
inline Tensor query_logits(const Tensor& logits, const models::Tables& tables, std::int64_t k) {
  const auto size =
      tables.sizes.to(Device::cpu()).select(0, k).contiguous().to_vector<std::int64_t>();
  return logits.select(0, k).slice(0, size[2], size[0]).contiguous();
}

}  // namespace causeway
