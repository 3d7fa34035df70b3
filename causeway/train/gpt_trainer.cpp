#include "causeway/train/gpt_trainer.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/core/interrupt.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/train/agreement.h"
#include "causeway/train/memory_plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace causeway::train {

namespace {

std::shared_ptr<models::Gpt> make_model(const GptTrainConfig& config, Device device,
                                        dist::Group& group, const models::State& weights) {
  const MemoryScope scope("weights");
  Generator generator(config.seed);
  nn::Placement placement;  // weights are drawn as f32 on the CPU, equal for every device
  placement.generator = &generator;
  placement.initialize = weights.empty();
  auto model = std::make_shared<models::Gpt>(config.model, placement);
  if (!weights.empty()) model->load_state(weights);
  model->to(config.dtype);
  model->to(device);
  broadcast_parameters(group, model->parameters());
  return model;
}

optim::OptimizerOptions optimizer_options(const GptTrainConfig& config) {
  optim::OptimizerOptions options;
  options.learning_rate = config.schedule.at(0);
  options.max_norm = config.max_norm;
  if (config.dtype == DType::f16) {
    options.loss_scale = 65536;
    options.growth_interval = 2000;
  }
  return options;
}

// Weight decay for matrices only, as in GPT-2.
std::vector<optim::ParameterGroup> parameter_groups(const GptTrainConfig& config,
                                                    const models::Gpt& model) {
  optim::GroupOptions adam;
  adam.algorithm = optim::Algorithm::adamw;
  adam.beta2 = config.beta2;
  std::vector<Tensor> matrices;
  std::vector<Tensor> vectors;
  for (const Tensor& parameter : config.muon ? model.others() : model.parameters()) {
    (parameter.n_dims() == 2 ? matrices : vectors).push_back(parameter);
  }
  std::vector<optim::ParameterGroup> groups{{vectors, adam}};
  adam.weight_decay = config.weight_decay;
  groups.push_back({matrices, adam});
  if (!config.muon) return groups;
  for (auto& group :
       optim::muon_groups(model.matrices(), config.muon_factor, config.weight_decay)) {
    groups.push_back(std::move(group));
  }
  return groups;
}

data::TokenStreamOptions stream_options(const GptTrainConfig& config, const dist::Group& group) {
  data::TokenStreamOptions options;
  options.batch = config.batch;
  options.length = config.model.length;
  options.seed = config.seed;
  options.rank = group.rank();
  options.n_ranks = group.size();
  return options;
}

data::TokenStream validation_stream(const GptTrainConfig& config, const dist::Group& group,
                                    const data::TokenData& tokens) {
  data::TokenStreamOptions options = stream_options(config, group);
  options.shuffle = false;
  return {tokens, options};
}

GptTrainConfig checked(const GptTrainConfig& config, dist::Group& group,
                       const data::TokenData& training) {
  config.check();
  Json settings = describe_gpt_train().to_json(&config);
  settings["tokens"] = training.size();
  require_same_settings(kGptTrain, group, settings.dump());
  return config;
}

// Sequences per step on each rank.
std::int64_t share_of(const GptTrainConfig& config, const dist::Group& group) {
  if (config.batch % group.size() != 0) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         fmt::format("a batch of {0} cannot be divided among {1} ranks; use a multiple of {1}",
                     config.batch, group.size()));
  }
  const std::int64_t share = config.batch / group.size();
  const std::int64_t part = config.micro_batch > 0 ? config.micro_batch : share;
  if (share % part != 0) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         fmt::format("{} sequences on each rank are not a multiple of the micro_batch {}", share,
                     part));
  }
  return share;
}

// The same on all ranks, which must cut batches alike.
GptMemoryPlan make_plan(const GptTrainConfig& config, Device device, dist::Group& group) {
  auto budget = static_cast<std::int64_t>(memory_budget(device));
  auto live = static_cast<std::int64_t>(pool_of(device).stats().current);
  for (const std::int64_t other : group.all_gather(budget)) budget = std::min(budget, other);
  for (const std::int64_t other : group.all_gather(live)) live = std::max(live, other);
  return {config,
          device,
          share_of(config, group),
          group.size(),
          static_cast<std::size_t>(live),
          static_cast<std::size_t>(budget)};
}

GptTrainConfig planned(GptTrainConfig config, const GptMemoryPlan& plan) {
  config.model.recompute = plan.recompute();
  return config;
}

}  // namespace

GptTrainer::GptTrainer(const GptTrainConfig& config, const data::TokenData& training,
                       const std::optional<data::TokenData>& validation, Device device,
                       dist::Group& group, std::size_t memory, const models::State& weights)
    : config_(checked(config, group, training)),
      device_(device),
      group_(group),
      limit_(pool_of(device), memory),
      plan_(make_plan(config, device, group)),
      n_parts_(share_of(config, group) / plan_.micro_batch()),
      model_(make_model(planned(config, plan_), device, group, weights)),
      parameters_(model_->parameters()),
      optimizer_(group, optimizer_options(config), parameters_, parameter_groups(config, *model_)),
      stream_(training, stream_options(config, group)),
      graph_(device,
             [this](const std::vector<Tensor>& inputs) { return train_on(inputs[0], inputs[1]); }),
      losses_(zeros({}, DType::f32, device)) {
  if (validation.has_value()) {
    validation_.emplace(validation_stream(config, group, *validation));
  }
  if (n_parts_ > 1 && group.size() == 1) sum_.emplace(parameters_);
}

Tensor GptTrainer::pass(const Tensor& tokens, const Tensor& targets, bool last) {
  std::optional<Tensor> scale;
  const bool scales = config_.dtype == DType::f16;
  if (scales) scale = optimizer_.loss_scale();
  if (n_parts_ > 1) {
    const double share = 1.0 / static_cast<double>(n_parts_);
    scale = scale.has_value() ? *scale * share : full({}, share, DType::f32, device_);
  }
  const Tensor loss = model_->loss(tokens, targets, scale);
  optimizer_.backward(loss, last);
  const Tensor value = autograd::detach(loss).to(DType::f32);
  return scales ? value / optimizer_.loss_scale() : value;
}

Tensor GptTrainer::compute_gradients(const Tensor& tokens, const Tensor& targets) {
  if (sum_.has_value()) sum_->reset();
  Tensor loss = zeros({}, DType::f32, device_);
  const std::int64_t size = tokens.size(0) / n_parts_;
  for (std::int64_t part = 0; part < n_parts_; ++part) {
    const std::int64_t begin = part * size;
    loss = loss + pass(tokens.slice(0, begin, begin + size), targets.slice(0, begin, begin + size),
                       part + 1 == n_parts_);
    if (sum_.has_value()) sum_->add();
  }
  if (sum_.has_value()) sum_->store();
  return loss;
}

std::vector<Tensor> GptTrainer::train_on(const Tensor& tokens, const Tensor& targets) {
  const MemoryScope scope("activations");
  std::optional<Interruptible> until_update(std::in_place,
                                            device_ == Device::cpu() && group_.size() == 1);
  Tensor loss;
  try {
    loss = compute_gradients(tokens, targets);
  } catch (...) {
    optimizer_.zero_grad();  // a step that is repeated must not find gradients
    throw;
  }
  until_update.reset();
  graph_.commit();
  optimizer_.step();
  losses_.copy_from(losses_ + loss);
  return {};
}

void GptTrainer::advance() {
  group_.check();
  const data::TokenBatch batch = stream_.batch(step_);
  optimizer_.set_learning_rate(config_.schedule.at(step_));
  graph_({batch.tokens.to(device_), batch.targets.to(device_)});
  ++step_;
  ++n_losses_;
}

TrainingJob::Progress GptTrainer::progress() {
  const Tensor sum = losses_.to(DType::f64);
  group_.all_reduce(sum, dist::Reduction::mean);
  TrainingJob::Progress progress;
  progress.loss = sum.item() / static_cast<double>(std::max<std::int64_t>(n_losses_, 1));
  progress.norm = optimizer_.norm().item();
  group_.check();  // the steps waited for are those of all ranks
  require_same_weights(kGptTrain, group_, parameters_);
  if (!std::isfinite(progress.loss)) {
    fail(ErrorKind::invalid_argument, kGptTrain,
         fmt::format("the mean loss of steps {} to {} is {}; lower the learning rate",
                     step_ - n_losses_ + 1, step_, std::isnan(progress.loss) ? "nan" : "infinite"));
  }
  reset_losses();
  return progress;
}

std::optional<double> GptTrainer::validation_loss(std::int64_t batches) {
  if (!validation_.has_value()) return std::nullopt;
  const Interruptible evaluation(group_.size() == 1);
  const autograd::NoGrad no_grad;
  const std::int64_t count = std::clamp<std::int64_t>(validation_->steps_per_epoch(), 1, batches);
  const Tensor sum = zeros({}, DType::f64, device_);
  for (std::int64_t i = 0; i < count; ++i) {
    const data::TokenBatch batch = validation_->batch(i);
    const std::int64_t size = batch.tokens.size(0) / n_parts_;
    for (std::int64_t part = 0; part < n_parts_; ++part) {
      const std::int64_t begin = part * size;
      const Tensor loss = model_->loss(batch.tokens.slice(0, begin, begin + size).to(device_),
                                       batch.targets.slice(0, begin, begin + size).to(device_));
      sum.copy_from(sum + loss.to(DType::f64));
    }
  }
  group_.all_reduce(sum, dist::Reduction::mean);
  return sum.item() / static_cast<double>(count * n_parts_);
}

void GptTrainer::reset_losses() {
  losses_.copy_from(zeros({}, DType::f32, device_));
  n_losses_ = 0;
}

Checkpoint GptTrainer::checkpoint() {
  Checkpoint made;
  made.step = step_;
  made.configuration = config_.to_json();
  made.tensors["model"] = model_->state();
  made.tensors["optimizer"] = optimizer_.state();
  return made;
}

void GptTrainer::restore(const Checkpoint& checkpoint) {
  check_compatible(GptTrainConfig::from_json(checkpoint.configuration));
  for (const char* set : {"model", "optimizer"}) {
    if (checkpoint.tensors.contains(set)) continue;
    fail(ErrorKind::format, kGptTrain, fmt::format("the checkpoint has no \"{}\"", set));
  }
  model_->load_state(checkpoint.tensors.at("model"));
  optimizer_.load_state(checkpoint.tensors.at("optimizer"));
  step_ = checkpoint.step;
  reset_losses();
}

void GptTrainer::check_compatible(const GptTrainConfig& other) const {
  const auto& fields = describe_gpt_train();
  GptTrainConfig before = other;
  before.model.recompute = config_.model.recompute;
  check_resumed_settings(kGptTrain,
                         config_differences(fields.to_json(&before), fields.to_json(&config_)),
                         {"model.", "muon ", "dtype "});
}

}  // namespace causeway::train
