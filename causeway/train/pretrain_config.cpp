#include "causeway/core/error.h"
#include "causeway/train/pretrain.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace causeway::train {

PretrainConfig PretrainConfig::suited_to(Device device) {
  PretrainConfig config;
  config.dtype = device.is_cuda() ? DType::bf16 : DType::f32;
  if (device.is_cpu()) config.window_steps = 4;
  return config;
}

void PretrainConfig::match_target() {
  model.classes = prior.regression ? 0 : prior.classes.high;
  if (prior.regression) model.class_as_number = false;
}

std::string PretrainConfig::to_json() const {
  nlohmann::ordered_json json;
  json["model"] = nlohmann::ordered_json::parse(model.to_json());
  json["prior"] = nlohmann::ordered_json::parse(prior.to_json());
  json["prior_seed"] = prior.seed;
  json["seed"] = seed;
  json["batch"] = batch;
  json["window_steps"] = window_steps;
  json["stages"] = nlohmann::ordered_json::array();
  for (const RowStage& stage : stages) json["stages"].push_back({stage.step, stage.rows});
  json["dtype"] = to_string(dtype);
  json["learning_rate"] = schedule.peak;
  json["warmup"] = schedule.warmup;
  json["total"] = schedule.total;
  json["decay"] = static_cast<int>(schedule.decay);
  json["floor"] = schedule.floor;
  json["weight_decay"] = weight_decay;
  json["max_norm"] = max_norm;
  json["muon"] = muon;
  json["muon_factor"] = muon_factor;
  json["average"] = average;
  json["average_steps"] = average_steps;
  return json.dump();
}

PretrainConfig PretrainConfig::from_json(std::string_view text) {
  PretrainConfig config;
  try {
    const auto json = nlohmann::json::parse(text);
    config.model = models::TabularConfig::from_json(json.at("model").dump());
    config.prior = prior::PriorConfig::from_json(json.at("prior").dump());
    json.at("prior_seed").get_to(config.prior.seed);
    json.at("seed").get_to(config.seed);
    json.at("batch").get_to(config.batch);
    json.at("window_steps").get_to(config.window_steps);
    for (const auto& stage : json.at("stages")) {
      config.stages.push_back({stage.at(0).get<std::int64_t>(), stage.at(1).get<int>()});
    }
    config.dtype = parse_dtype(json.at("dtype").get<std::string>());
    json.at("learning_rate").get_to(config.schedule.peak);
    json.at("warmup").get_to(config.schedule.warmup);
    json.at("total").get_to(config.schedule.total);
    config.schedule.decay = static_cast<optim::Decay>(json.at("decay").get<int>());
    json.at("floor").get_to(config.schedule.floor);
    json.at("weight_decay").get_to(config.weight_decay);
    json.at("max_norm").get_to(config.max_norm);
    json.at("muon").get_to(config.muon);
    json.at("muon_factor").get_to(config.muon_factor);
    json.at("average").get_to(config.average);
    json.at("average_steps").get_to(config.average_steps);
  } catch (const nlohmann::json::exception& problem) {
    fail(ErrorKind::format, "pretrain", fmt::format("not a configuration: {}", problem.what()));
  }
  return config;
}

std::vector<std::string> differences(const PretrainConfig& before, const PretrainConfig& now) {
  const auto flat = [](const PretrainConfig& config) {
    return nlohmann::json::parse(config.to_json()).flatten();
  };
  const auto old = flat(before);
  const auto fresh = flat(now);
  std::vector<std::string> found;
  for (const auto& [path, value] : fresh.items()) {
    const auto was = old.value(path, nlohmann::json());
    if (was == value) continue;
    std::string name = path.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    found.push_back(fmt::format("{} {} instead of {}", name, value.dump(), was.dump()));
  }
  return found;
}

}  // namespace causeway::train
