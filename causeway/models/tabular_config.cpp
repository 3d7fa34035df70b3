#include "causeway/core/error.h"
#include "causeway/models/tabular.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::models {

kernels::TableInputs TabularConfig::inputs() const {
  kernels::TableInputs made;
  made.group = static_cast<int>(group);
  made.n_classes = class_as_number ? 0 : static_cast<int>(classes);
  made.n_thinking = static_cast<int>(thinking);
  made.mean_for_queries = class_as_number;
  made.standardise_target = is_regression();
  return made;
}

double TabularConfig::step_flops(std::int64_t tables, std::int64_t rows,
                                 std::int64_t features) const {
  const auto w = static_cast<double>(width);
  const auto mlp = 4 * w * static_cast<double>(hidden);
  const double qkv = 6 * w * w;
  const double behind = projection ? 2 * w * w : 0;
  const auto columns = static_cast<double>(features + 1);
  const double seen = static_cast<double>(rows) / 2 + static_cast<double>(thinking);
  const double among_columns = qkv + 4 * w * columns;
  const double the_rest = behind + qkv + 4 * w * seen + behind + mlp;
  const double all_rows = static_cast<double>(tables * (rows + thinking));
  // In the last layer only the target's token asks and goes on, unless all are read.
  const double last_columns = mean_readout ? columns : 1;
  const auto n_layers = static_cast<double>(layers);
  double forward = all_rows * columns * n_layers * among_columns;
  forward -= all_rows * (columns - last_columns) * (2 * w * w + 4 * w * columns);
  if (joins_encoder()) forward -= all_rows * columns * 6 * w * (w - inputs().width());
  forward += all_rows * ((n_layers - 1) * columns + last_columns) * the_rest;
  forward += all_rows * 2 * static_cast<double>(hidden * (width + outputs()));
  return 3 * forward;
}

void TabularConfig::check() const {
  const auto refuse = [](const std::string& why) {
    fail(ErrorKind::invalid_argument, "tabular transformer", why);
  };
  const auto within = [&](const char* name, std::int64_t value, std::int64_t low,
                          std::int64_t high) {
    if (value < low || value > high) {
      refuse(fmt::format("{} {}: expected {} to {}", name, value, low, high));
    }
  };
  within("width", width, 8, 4096);
  within("heads", heads, 1, 64);
  within("hidden", hidden, 8, 65536);
  within("layers", layers, 1, 64);
  within("group", group, 1, 16);
  within("thinking", thinking, 0, 1024);
  if (classes != 0) within("classes", classes, 2, 1000);
  if (is_regression()) within("bins", bins, 2, 4096);
  if (width % heads != 0 || width / heads % 8 != 0) {
    refuse(fmt::format("width {} with {} heads: a head's share must be a multiple of 8", width,
                       heads));
  }
  if (class_as_number && is_regression()) refuse("class_as_number wants classes");
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
       fmt::format("there is no preset \"{}\"; there are default, nanotabpfn and speedrun", name));
}

std::string TabularConfig::to_json() const {
  nlohmann::ordered_json json;
  json["width"] = width;
  json["heads"] = heads;
  json["hidden"] = hidden;
  json["layers"] = layers;
  json["group"] = group;
  json["thinking"] = thinking;
  json["classes"] = classes;
  json["bins"] = bins;
  json["pre_norm"] = pre_norm;
  json["projection"] = projection;
  json["residual_decay"] = residual_decay;
  json["class_as_number"] = class_as_number;
  json["mean_readout"] = mean_readout;
  return json.dump();
}

TabularConfig TabularConfig::from_json(std::string_view text) {
  TabularConfig config;
  try {
    const auto json = nlohmann::json::parse(text);
    json.at("width").get_to(config.width);
    json.at("heads").get_to(config.heads);
    json.at("hidden").get_to(config.hidden);
    json.at("layers").get_to(config.layers);
    json.at("group").get_to(config.group);
    json.at("thinking").get_to(config.thinking);
    json.at("classes").get_to(config.classes);
    json.at("bins").get_to(config.bins);
    json.at("pre_norm").get_to(config.pre_norm);
    json.at("projection").get_to(config.projection);
    json.at("residual_decay").get_to(config.residual_decay);
    json.at("class_as_number").get_to(config.class_as_number);
    json.at("mean_readout").get_to(config.mean_readout);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "tabular transformer",
         fmt::format("not a configuration: {}", problem.what()));
  }
  config.check();
  return config;
}

}  // namespace causeway::models
