#include "causeway/train/gpt_trainer.h"

#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace causeway::train {

namespace {

constexpr const char* kOperation = "gpt train";

std::shared_ptr<models::Gpt> make_model(const GptTrainConfig& config, Device device) {
  const MemoryScope scope("weights");
  Generator generator(config.seed);
  nn::Placement placement;  // weights are drawn as f32 on the CPU, equal for every device
  placement.generator = &generator;
  auto model = std::make_shared<models::Gpt>(config.model, placement);
  model->to(config.dtype);
  model->to(device);
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
void add_groups(optim::Optimizer& optimizer, const GptTrainConfig& config,
                const models::Gpt& model) {
  optim::GroupOptions adam;
  adam.algorithm = optim::Algorithm::adamw;
  adam.beta2 = config.beta2;
  std::vector<Tensor> matrices;
  std::vector<Tensor> vectors;
  for (const Tensor& parameter : config.muon ? model.others() : model.parameters()) {
    (parameter.n_dims() == 2 ? matrices : vectors).push_back(parameter);
  }
  optimizer.add_group(vectors, adam);
  adam.weight_decay = config.weight_decay;
  optimizer.add_group(matrices, adam);
  if (!config.muon) return;
  optim::add_muon_groups(optimizer, model.matrices(), config.muon_factor, config.weight_decay);
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

std::int64_t parts_of(const GptTrainConfig& config, const dist::Group& group) {
  if (config.batch % group.size() != 0) {
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("a batch of {} cannot be divided among {} ranks", config.batch, group.size()));
  }
  const std::int64_t share = config.batch / group.size();
  const std::int64_t part = config.micro_batch > 0 ? config.micro_batch : share;
  if (share % part != 0) {
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("{} sequences on each rank are not a multiple of the micro_batch {}", share,
                     part));
  }
  return share / part;
}

}  // namespace

GptTrainer::GptTrainer(const GptTrainConfig& config, const data::TokenData& training,
                       const std::optional<data::TokenData>& validation, Device device,
                       dist::Group& group)
    : config_((config.check(), config)),
      device_(device),
      group_(group),
      n_parts_(parts_of(config, group)),
      model_(make_model(config, device)),
      parameters_(model_->parameters()),
      optimizer_(optimizer_options(config)),
      stream_(training, stream_options(config, group)),
      graph_(device,
             [this](const std::vector<Tensor>& inputs) { return train_on(inputs[0], inputs[1]); }),
      losses_(zeros({}, DType::f32, device)) {
  add_groups(optimizer_, config_, *model_);
  if (validation.has_value()) {
    validation_.emplace(validation_stream(config, group, *validation));
  }
  if (n_parts_ > 1) {
    sum_.emplace(parameters_);
  } else if (group.size() > 1) {
    sync_ = std::make_unique<GradientSync>(group, parameters_);
  }
}

Tensor GptTrainer::pass(const Tensor& tokens, const Tensor& targets, std::int64_t n_parts) {
  std::optional<Tensor> scale;
  const bool scales = config_.dtype == DType::f16;
  if (scales) scale = optimizer_.loss_scale();
  if (n_parts > 1) {
    const double share = 1.0 / static_cast<double>(n_parts);
    scale = scale.has_value() ? *scale * share : full({}, share, DType::f32, device_);
  }
  const Tensor loss = model_->loss(tokens, targets, scale);
  autograd::backward(loss);
  const Tensor value = autograd::detach(loss).to(DType::f32);
  return scales ? value / optimizer_.loss_scale() : value;
}

Tensor GptTrainer::compute_gradients(const Tensor& tokens, const Tensor& targets) {
  if (n_parts_ == 1) {
    if (sync_ != nullptr) sync_->begin();
    Tensor loss = pass(tokens, targets, 1);
    if (sync_ != nullptr) sync_->finish();
    return loss;
  }
  sum_->reset();
  Tensor loss = zeros({}, DType::f32, device_);
  const std::int64_t size = tokens.size(0) / n_parts_;
  for (std::int64_t begin = 0; begin < tokens.size(0); begin += size) {
    loss = loss + pass(tokens.slice(0, begin, begin + size), targets.slice(0, begin, begin + size),
                       n_parts_);
    sum_->add();
  }
  sum_->store(group_);
  return loss;
}

std::vector<Tensor> GptTrainer::train_on(const Tensor& tokens, const Tensor& targets) {
  const MemoryScope scope("activations");
  Tensor loss;
  try {
    loss = compute_gradients(tokens, targets);
  } catch (...) {
    optimizer_.zero_grad();  // a step that is repeated must not find gradients
    throw;
  }
  graph_.commit();
  optimizer_.step();
  optimizer_.zero_grad();
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
  if (!std::isfinite(progress.loss)) {
    fail(ErrorKind::invalid_argument, kOperation,
         fmt::format("the mean loss of steps {} to {} is {}; lower the learning rate",
                     step_ - n_losses_ + 1, step_, progress.loss));
  }
  reset_losses();
  return progress;
}

std::optional<double> GptTrainer::validation_loss(std::int64_t batches) {
  if (!validation_.has_value()) return std::nullopt;
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
    fail(ErrorKind::format, kOperation, fmt::format("the checkpoint has no \"{}\"", set));
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
  check_resumed_settings(kOperation,
                         config_differences(fields.to_json(&before), fields.to_json(&config_)),
                         {"model.", "muon ", "dtype "});
}

}  // namespace causeway::train
