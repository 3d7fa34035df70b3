#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/models/tabular.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace causeway::models {

kernels::TableInputs TabularConfig::inputs() const {
  kernels::TableInputs made;
  made.group = static_cast<int>(group);
  made.columns_per_token = static_cast<int>(columns_per_token);
  made.n_classes = class_as_number ? 0 : static_cast<int>(classes);
  made.n_thinking = static_cast<int>(thinking);
  made.mean_for_queries = class_as_number;
  made.standardise_target = is_regression();
  if (decoder == TabularDecoder::retrieval) {
    made.n_classes = kernels::kClassCode;
    made.class_codes = true;
  }
  made.radial = cell_encoding == CellEncoding::radial;
  made.labels_in_cells = labels == LabelPlacement::cells;
  return made;
}

double TabularConfig::step_flops(std::int64_t tables, std::int64_t rows,
                                 std::int64_t features) const {
  const auto w = static_cast<double>(width);
  const auto mlp = 4 * w * static_cast<double>(hidden);
  const double qkv = 6 * w * w;
  const double project = projection ? 2 * w * w : 0;
  const auto columns = static_cast<double>(tokens(features));
  const double n_keys = static_cast<double>(rows) / 2 + static_cast<double>(thinking);
  const double among_columns = qkv + 4 * w * columns;
  const double the_rest = qkv + 4 * w * n_keys + project + mlp;
  const double all_rows = static_cast<double>(tables * (rows + thinking));
  // The last layer computes only the target's token, unless all tokens are read.
  const double last_columns = mean_readout ? columns : 1;
  const auto n_layers = static_cast<double>(layers);
  double forward = all_rows * columns * n_layers * among_columns;
  forward -= all_rows * (columns - last_columns) * (2 * w * w + 4 * w * columns);
  if (fuses_encoder()) forward -= all_rows * columns * 6 * w * (w - inputs().width());
  forward += all_rows * ((n_layers - 1) * columns + last_columns) * project;
  // Attention between rows and the MLP run before the last attention between columns, or after it.
  const bool columns_first = layer_order == LayerOrder::columns_rows_mlp;
  forward +=
      all_rows * ((n_layers - 1) * columns + (columns_first ? last_columns : columns)) * the_rest;
  if (decoder == TabularDecoder::retrieval) {
    forward += all_rows * (4 * w * w + 4 * w * static_cast<double>(rows) / 2);
  } else {
    forward += all_rows * 2 * static_cast<double>(hidden * (width + outputs()));
  }
  return 3 * forward;
}

std::int64_t TabularConfig::n_parameters() const {
  const std::int64_t norm = pre_norm ? width : 2 * width;  // layer norm has a bias
  const std::int64_t bias = biases ? 1 : 0;                // per output of a layer's linear maps
  const std::int64_t attention = (projection ? 4 : 3) * width * (width + bias);
  const std::int64_t mlp = hidden * (width + bias) + width * (hidden + bias);
  const std::int64_t decoding = decoder == TabularDecoder::retrieval
                                    ? 2 * width * (width + 1)
                                    : hidden * (width + 1) + outputs() * (hidden + 1);
  const std::int64_t scales = scaled_softmax ? 2 * heads : 0;
  return width * inputs().width() + layers * (2 * attention + mlp + 3 * norm + scales) +
         (pre_norm ? norm : 0) + decoding;
}

std::size_t TabularConfig::step_bytes(std::int64_t tables, std::int64_t rows, std::int64_t features,
                                      DType dtype, bool recomputes) const {
  const std::int64_t all_rows = tables * (rows + thinking);
  const std::int64_t all_tokens = all_rows * tokens(features);
  const std::int64_t last_tokens = mean_readout ? all_tokens : all_rows;
  // Elements per token that the backward pass reads. Of an attention: q, k and v, its result, the
  // residual stream and its norm; of the MLP the hidden values before and after the activation.
  const std::int64_t attention = 3 * width + width + 2 * width;
  const std::int64_t mlp = 2 * hidden + 2 * width;
  const std::int64_t layer = 2 * attention + mlp;
  std::int64_t elements = all_tokens * (inputs().width() + 2 * width);
  const std::int64_t last =
      all_tokens * 3 * width + (layer_order == LayerOrder::columns_rows_mlp
                                    ? last_tokens * layer
                                    : last_tokens * attention + all_tokens * (attention + mlp));
  if (recomputes) {  // the residual streams and norms between layers, and one layer
    elements += (layers - 1) * all_tokens * 2 * width + std::max(all_tokens * layer, last);
  } else {
    elements += (layers - 1) * all_tokens * layer + last;
  }
  // The largest gradients that exist at a time.
  elements += all_tokens * std::max(6 * width, 2 * hidden + 2 * width);
  if (decoder == TabularDecoder::retrieval) {  // q, k, v, the result and their gradients
    elements += all_rows * (8 * width + 4 * outputs());
  } else {
    elements += last_tokens * (2 * hidden + 4 * outputs());
  }
  // f32 statistics of attention and norms.
  const std::int64_t statistics = all_tokens * layers * (2 * heads + 6);
  return static_cast<std::size_t>(elements) * size_of(dtype) +
         static_cast<std::size_t>(statistics) * sizeof(float);
}

void TabularConfig::check() const {
  const auto refuse = [](const std::string& why) {
    fail(ErrorKind::invalid_argument, "tabular transformer", why);
  };
  describe_tabular().check(this);
  if (width % heads != 0 || width / heads % 8 != 0) {
    refuse(
        fmt::format("width {} with {} heads: width / heads must be a multiple of 8", width, heads));
  }
  if (classes == 1) refuse("classes 1: expected 2 or more, or 0 for regression");
  if (decoder == TabularDecoder::retrieval && (is_regression() || class_as_number)) {
    refuse("decoder retrieval needs a model with classes, and class_as_number off");
  }
  if (columns_per_token > group) {
    refuse(
        fmt::format("columns_per_token {}: expected at most group, {}", columns_per_token, group));
  }
  if (class_as_number && is_regression()) refuse("class_as_number needs a model with classes");
}

TabularConfig TabularConfig::preset(std::string_view name) {
  TabularConfig config;
  if (name == "default") return config;
  if (name == "nanotabpfn") {
    config.width = 96;
    config.hidden = 192;
    config.layers = 3;
    config.group = 1;
    config.thinking = 0;
    config.classes = 2;
    config.pre_norm = false;
    config.class_as_number = true;
    return config;
  }
  if (name == "speedrun") {
    config.width = 256;
    config.hidden = 768;
    config.layers = 5;
    config.group = 5;
    config.thinking = 24;
    config.classes = 8;
    config.projection = false;
    config.residual_decay = 0.95;
    config.class_as_number = true;
    config.mean_readout = true;
    return config;
  }
  fail(ErrorKind::invalid_argument, "tabular transformer",
       fmt::format("unknown preset \"{}\"; expected default, nanotabpfn or speedrun", name));
}

namespace {

ConfigDescription<TabularConfig> make_tabular_description() {
  using Config = TabularConfig;
  ConfigDescription<Config> d("tabular transformer");
  d.add("width", &Config::width, "Embedding width").between(8, 4096);
  d.add("heads", &Config::heads, "Attention heads").between(1, 64);
  d.add("hidden", &Config::hidden, "Hidden width of the MLP").between(8, 65536);
  d.add("layers", &Config::layers, "Transformer layers").between(1, 64);
  d.add("group", &Config::group, "Columns read by one feature token").between(1, 16);
  d.add("columns_per_token", &Config::columns_per_token,
        "Columns per feature token of tables with more than 16 features")
      .between(1, 16);
  d.add("thinking", &Config::thinking, "Thinking rows (learned)").between(0, 1024);
  d.add("classes", &Config::classes, "Maximum number of classes; 0 for regression")
      .between(0, 1000)
      .json_only();
  d.add("bins", &Config::bins, "Bins of the predicted distribution (regression)").between(2, 4096);
  d.add("pre_norm", &Config::pre_norm, "RMS norm before each branch, else layer norm after it");
  d.add("projection", &Config::projection, "Linear projection after attention");
  d.add("biases", &Config::biases, "Biases in the linear maps of layers");
  d.add("residual_decay", &Config::residual_decay,
        "Layer i scales its input by this to the power i")
      .between(0.01, 100);
  d.add("class_as_number", &Config::class_as_number,
        "Feed the class as one number instead of one-hot");
  d.choice(
      "cell_encoding", &Config::cell_encoding, {"linear", "radial"},
      "What the encoder reads of a cell: its value, or also its rank and radial basis functions");
  d.choice("labels", &Config::labels, {"column", "cells"},
           "Tokens that receive the label of a context row: the target's, or every cell's too");
  d.choice("layer_order", &Config::layer_order, {"columns,rows,mlp", "rows,mlp,columns"},
           "Order of a layer's branches");
  d.choice("decoder", &Config::decoder, {"linear", "retrieval"},
           "Logits by an MLP, or by attention over labelled rows for any number of classes");
  d.add("scaled_softmax", &Config::scaled_softmax,
        "Scale queries of attention between rows by a learned function of log(context rows)");
  d.add("mean_readout", &Config::mean_readout,
        "Read the mean of the feature tokens instead of the target token");
  return d;
}

}  // namespace

const ConfigDescription<TabularConfig>& describe_tabular() {
  static const ConfigDescription<TabularConfig> description = make_tabular_description();
  return description;
}

std::string TabularConfig::to_json() const { return describe_tabular().to_json(this).dump(); }

TabularConfig TabularConfig::from_json(std::string_view text) {
  TabularConfig config;
  try {
    describe_tabular().read(&config, Json::parse(text));
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "tabular transformer",
         fmt::format("not a model configuration: {}", problem.what()));
  }
  config.check();
  return config;
}

}  // namespace causeway::models
