#include "causeway/train/pretrain.h"

#include "causeway/core/error.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace causeway::train {

namespace {

std::shared_ptr<models::TabularTransformer> make_model(const PretrainConfig& config,
                                                       Device device) {
  Generator generator(config.seed);
  nn::Placement placement;  // drawn as f32 on the CPU, so that the same weights come everywhere
  placement.generator = &generator;
  auto model = std::make_shared<models::TabularTransformer>(config.model, placement);
  model->to(config.dtype);
  model->to(device);
  return model;
}

optim::OptimizerOptions optimizer_options(const PretrainConfig& config) {
  optim::OptimizerOptions options;
  options.learning_rate = config.schedule.at(0);
  options.max_norm = config.max_norm;
  return options;
}

void add_groups(optim::Optimizer& optimizer, const PretrainConfig& config,
                const models::TabularTransformer& model) {
  optim::GroupOptions plain;
  plain.algorithm = optim::Algorithm::schedule_free;
  plain.weight_decay = config.weight_decay;
  if (!config.muon) {
    optimizer.add_group(model.parameters(), plain);
    return;
  }
  optimizer.add_group(model.others(), plain);
  optim::GroupOptions muon;
  muon.algorithm = optim::Algorithm::muon;
  muon.momentum = 0.95;
  muon.nesterov = true;
  muon.weight_decay = 10 * config.weight_decay;
  for (const Tensor& matrix : model.matrices()) {
    const std::int64_t longer = std::max(matrix.size(0), matrix.size(1));
    muon.rate_factor = config.muon_factor * std::sqrt(static_cast<double>(longer));
    optimizer.add_group({matrix}, muon);
  }
}

TableStreamOptions stream_options(const PretrainConfig& config, const dist::Group& group) {
  TableStreamOptions options;
  options.prior = config.prior;
  options.batch = config.batch;
  options.window_steps = config.window_steps;
  options.stages = config.stages;
  options.rank = group.rank();
  options.n_ranks = group.size();
  return options;
}

}  // namespace

Pretrainer::Pretrainer(const PretrainConfig& config, Device device, dist::Group& group)
    : config_(config),
      device_(device),
      group_(group),
      model_(make_model(config, device)),
      optimizer_(optimizer_options(config)),
      stream_(stream_options(config, group), device),
      graph_(device,
             [this](const std::vector<Tensor>& inputs) {
               return train_on({inputs[0], inputs[1], inputs[2]});
             }),
      average_(model_->parameters(), static_cast<std::size_t>(config.average)),
      losses_(zeros({}, DType::f32, device)) {
  add_groups(optimizer_, config_, *model_);
  if (group.size() > 1) sync_ = std::make_unique<GradientSync>(group, model_->parameters());
}

std::vector<Tensor> Pretrainer::train_on(const models::Tables& tables) {
  const Tensor loss = model_->loss(tables);
  if (sync_ != nullptr) sync_->begin();
  autograd::backward(loss);
  if (sync_ != nullptr) sync_->finish();
  optimizer_.step();
  optimizer_.zero_grad();
  losses_.copy_from(losses_ + autograd::detach(loss).to(DType::f32));
  return {};
}

void Pretrainer::advance() {
  const models::Tables tables = stream_.tables(step_);
  optimizer_.set_learning_rate(config_.schedule.at(step_));
  graph_({tables.x, tables.y, tables.sizes});
  n_tokens_ += config_.batch * tables.x.size(1) * (tables.x.size(2) + 1);
  ++step_;
  ++n_losses_;
  if (config_.average > 0 && step_ % config_.average_steps == 0) {
    optimizer_.eval();
    average_.update();
    optimizer_.train();
  }
}

Pretrainer::Progress Pretrainer::progress() {
  const Tensor sum = losses_.to(DType::f64);
  group_.all_reduce(sum, dist::Reduction::mean);
  Progress progress;
  progress.loss = sum.item() / static_cast<double>(std::max<std::int64_t>(n_losses_, 1));
  progress.norm = optimizer_.norm().item();
  losses_.copy_from(zeros({}, DType::f32, device_));
  n_losses_ = 0;
  return progress;
}

void Pretrainer::with_averaged_weights(
    const std::function<void(models::TabularTransformer&)>& use) {
  const autograd::NoGrad no_grad;
  optimizer_.eval();
  std::vector<Tensor> kept;
  if (average_.snapshots() > 0) {
    for (const Tensor& parameter : model_->parameters()) kept.push_back(parameter.clone());
    average_.copy_to_weights();
  }
  use(*model_);
  const std::vector<Tensor> parameters = model_->parameters();
  for (std::size_t i = 0; i < kept.size(); ++i) parameters[i].copy_from(kept[i]);
  optimizer_.train();
}

Snapshot Pretrainer::snapshot() {
  Snapshot made;
  made.step = step_;
  made.datasets = datasets();
  made.configuration = config_.to_json();
  made.tensors["model"] = model_->state();
  made.tensors["optimizer"] = optimizer_.state();
  if (average_.snapshots() > 0) made.tensors["average"] = average_.state();
  return made;
}

void Pretrainer::restore(const Snapshot& snapshot) {
  const PretrainConfig other = PretrainConfig::from_json(snapshot.configuration);
  if (other.model.to_json() != config_.model.to_json()) {
    fail(ErrorKind::format, "pretrain",
         fmt::format("the checkpoint is of another model: {}; this run's is {}",
                     other.model.to_json(), config_.model.to_json()));
  }
  model_->load_state(snapshot.tensors.at("model"));
  optimizer_.load_state(snapshot.tensors.at("optimizer"));
  const auto average = snapshot.tensors.find("average");
  if (average != snapshot.tensors.end()) average_.load_state(average->second);
  step_ = snapshot.step;
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

}  // namespace causeway::train
