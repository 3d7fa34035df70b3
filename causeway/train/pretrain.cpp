#include "causeway/train/pretrain.h"

#include "causeway/core/error.h"
#include "causeway/core/interrupt.h"
#include "causeway/core/log.h"
#include "causeway/autograd/dropout.h"
#include "causeway/autograd/elementwise.h"
#include "causeway/nn/init.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/train/agreement.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace causeway::train {

namespace {

constexpr std::int64_t kOne = 1;

std::shared_ptr<models::TabularTransformer> make_model(const PretrainConfig& config,
                                                       Device device) {
  const MemoryScope scope("weights");
  Generator generator(config.seed);
  nn::Placement placement;  // weights are drawn as f32 on the CPU, equal for every device
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

// Without `model`, which has the matrices for Muon, all parameters of `module` are trained alike.
void add_groups(optim::Optimizer& optimizer, const PretrainConfig& config, const nn::Module& module,
                const models::TabularTransformer* model) {
  optim::GroupOptions plain;
  plain.algorithm = optim::Algorithm::schedule_free;
  plain.weight_decay = config.weight_decay;
  if (!config.muon || model == nullptr) {
    optimizer.add_group(module.parameters(), plain);
    return;
  }
  optimizer.add_group(model->others(), plain);
  for (const auto& [matrices, options] :
       optim::muon_groups(model->matrices(), config.muon_factor, 10 * config.weight_decay)) {
    optimizer.add_group(matrices, options);
  }
}

// A run that was given code cannot be resumed without it.
void require_parts(const PretrainConfig& config, const RunParts& parts) {
  const auto require = [](bool same, const char* what, std::string_view name,
                          const char* argument) {
    if (same) return;
    fail(ErrorKind::invalid_argument, "pretrain",
         name.empty() ? fmt::format("the settings name no {}, but one was passed", what)
                      : fmt::format("the run was started in Python with the {} {}; resume it there "
                                    "with causeway.pretrain({}=...)",
                                    what, name, argument));
  };
  require(config.batches.empty() == (parts.source == nullptr), "batches", config.batches,
          "batches");
  require(config.families.empty() == parts.families.empty(), "prior families", config.families,
          "prior");
  require(config.custom_model.empty() == (parts.model == nullptr), "model", config.custom_model,
          "model");
}

TableStreamOptions stream_options(const PretrainConfig& config, const dist::Group& group,
                                  const std::vector<CustomFamily>& families) {
  TableStreamOptions options;
  options.families = families;
  options.prior = config.prior;
  options.batch = config.batch;
  options.window_steps = config.window_steps;
  options.uses = config.dataset_uses;
  options.stages = config.stages;
  options.rank = group.rank();
  options.n_ranks = group.size();
  return options;
}

}  // namespace

Pretrainer::Pretrainer(const PretrainConfig& config, Device device, dist::Group& group,
                       std::size_t memory, const RunParts& parts)
    : config_((require_same_settings("pretrain", group, config.to_json()), config)),
      device_(device),
      group_(group),
      limit_(pool_of(device), memory),
      custom_((require_parts(config, parts), parts.model)),
      model_(custom_ == nullptr ? make_model(config, device) : nullptr),
      optimizer_(optimizer_options(config)),
      sync_(group, module().parameters()),
      source_(parts.source),
      graph_(device,
             [this](const std::vector<Tensor>& inputs) {
               return train_on({inputs[0], inputs[1], inputs[2]});
             }),
      average_(module().parameters(), static_cast<std::size_t>(std::max(config.average, kOne))),
      losses_(zeros({}, DType::f32, device)) {
  broadcast_parameters(group, module().parameters());
  add_groups(optimizer_, config_, module(), model_.get());
  if (source_ == nullptr) {
    source_ = std::make_shared<TableStream>(stream_options(config, group, parts.families), device);
  }
  if (custom_ != nullptr) return;
  plan_.emplace(make_plan());
  if (plan_->largest_cut().n_parts > 1 && group.size() == 1) sum_.emplace(model_->parameters());
  if (plan_->needed() <= plan_->budget()) graph_.reserve(plan_->largest_step());
}

nn::Module& Pretrainer::module() const { return custom_ != nullptr ? custom_->module() : *model_; }

MemoryPlan Pretrainer::make_plan() {
  std::int64_t n_weights = 0;
  for (const Tensor& parameter : model_->parameters()) n_weights += parameter.numel();
  // The same on all ranks, which must cut batches alike.
  auto budget = static_cast<std::int64_t>(memory_budget(device_));
  auto live = static_cast<std::int64_t>(pool_of(device_).stats().current);
  for (const std::int64_t other : group_.all_gather(budget)) budget = std::min(budget, other);
  for (const std::int64_t other : group_.all_gather(live)) live = std::max(live, other);
  const auto plan_for = [&](std::int64_t bytes) {
    return MemoryPlan(config_, device_, config_.batch / group_.size(), n_weights,
                      static_cast<std::size_t>(live), static_cast<std::size_t>(bytes));
  };
  // On a CPU, which has other programs, larger passes are no faster.
  constexpr std::int64_t kEnoughOnCpu = std::int64_t{4} << 30;
  if (device_.is_cpu() && budget > kEnoughOnCpu) {
    MemoryPlan small = plan_for(kEnoughOnCpu);
    if (small.needed() <= small.budget()) return small;
  }
  return plan_for(budget);
}

Tensor Pretrainer::loss_of(const models::Tables& tables) {
  return custom_ != nullptr ? custom_->loss(tables) : model_->loss(tables);
}

Tensor Pretrainer::pass(const models::Tables& tables, double share, bool last) {
  Tensor loss = loss_of(tables);
  if (share != 1) loss = autograd::multiply(loss, share);
  sync_.backward(loss, last);
  return autograd::detach(loss).to(DType::f32);
}

Tensor Pretrainer::compute_gradients(const models::Tables& tables) {
  if (custom_ != nullptr) return pass(tables, 1, true);
  const auto [n_parts, recomputes] = plan_->cut(tables.x.size(1), tables.x.size(2));
  model_->recompute_layers(recomputes);
  if (n_parts == 1) return pass(tables, 1, true);
  if (sum_.has_value()) sum_->reset();
  Tensor loss = zeros({}, DType::f32, device_);
  const std::int64_t n_tables = tables.x.size(0);
  for (std::int64_t part = 0; part < n_parts; ++part) {
    const std::int64_t begin = part * n_tables / n_parts;
    const std::int64_t end = (part + 1) * n_tables / n_parts;
    loss = loss + pass({tables.x.slice(0, begin, end), tables.y.slice(0, begin, end),
                        tables.sizes.slice(0, begin, end)},
                       static_cast<double>(end - begin) / static_cast<double>(n_tables),
                       part + 1 == n_parts);
    if (sum_.has_value()) sum_->add();
  }
  if (sum_.has_value()) sum_->store();
  return loss;
}

std::vector<Tensor> Pretrainer::train_on(const models::Tables& tables) {
  const MemoryScope scope("activations");
  std::optional<Interruptible> until_update(std::in_place, can_abandon_step());
  Tensor loss;
  try {
    loss = compute_gradients(tables);
  } catch (...) {
    optimizer_.zero_grad();  // a step that is repeated must not find gradients
    throw;
  }
  until_update.reset();
  graph_.commit();
  optimizer_.step();
  optimizer_.zero_grad();
  losses_.copy_from(losses_ + loss);
  return {};
}

// Whether the step was taken; false: it ran out of memory, and smaller micro-batches may fit.
bool Pretrainer::try_step(const models::Tables& tables) {
  try {
    std::optional<autograd::DetectAnomaly> watch;
    if (config_.detect_anomaly) watch.emplace(step_ + 1);
    if (custom_ != nullptr) autograd::begin_step(device_);  // of dropout
    if (config_.detect_anomaly || custom_ != nullptr) {
      train_on(tables);
    } else {
      graph_({tables.x, tables.y, tables.sizes});
    }
    return true;
  } catch (const Error& error) {
    const bool may_repeat =
        error.kind() == ErrorKind::out_of_memory && !graph_.committed() && plan_.has_value();
    // Ranks must cut batches alike.
    if (!may_repeat || group_.size() > 1 || !plan_->cut_smaller()) throw;
    logger::warn(
        fmt::format("[pretrain] repeating a step that ran out of memory; the run now {}: {}",
                    plan_->summary(), error.what()));
  }
  if (!sum_.has_value()) sum_.emplace(model_->parameters());
  return false;
}

models::Tables Pretrainer::new_tables() {
  const models::Tables made = source_->tables(step_);
  return {made.x.to(device_), made.y.to(device_), made.sizes.to(device_)};
}

void Pretrainer::advance() {
  group_.check();
  const models::Tables tables = [&] {
    const Interruptible generation(can_abandon_step());
    return new_tables();
  }();
  optimizer_.set_learning_rate(config_.schedule.at(step_));
  while (!try_step(tables)) {
  }
  const std::int64_t tokens_per_row =
      custom_ != nullptr ? tables.x.size(2) + 1 : config_.model.tokens(tables.x.size(2));
  n_tokens_ += config_.batch * tables.x.size(1) * tokens_per_row;
  if (custom_ == nullptr) {
    n_flops_ += config_.model.step_flops(tables.x.size(0), tables.x.size(1), tables.x.size(2));
  }
  ++step_;
  ++n_losses_;
  if (config_.average > 0 && step_ % config_.average_steps == 0) {
    with_eval_weights([&] { average_.update(); });
  }
}

Pretrainer::Progress Pretrainer::progress() {
  const Tensor sum = losses_.to(DType::f64);
  group_.all_reduce(sum, dist::Reduction::mean);
  Progress progress;
  progress.loss = sum.item() / static_cast<double>(std::max(n_losses_, kOne));
  progress.norm = optimizer_.norm().item();
  group_.check();  // the steps waited for are those of all ranks
  require_same_weights("pretrain", group_, module().parameters());
  if (!std::isfinite(progress.loss)) {
    fail(ErrorKind::invalid_argument, "pretrain",
         fmt::format("the mean loss of steps {} to {} is {}; lower the learning rate, or set "
                     "detect_anomaly to find the operation",
                     step_ - n_losses_ + 1, step_, std::isnan(progress.loss) ? "nan" : "infinite"));
  }
  reset_losses();
  return progress;
}

void Pretrainer::reset_losses() {
  losses_.copy_from(zeros({}, DType::f32, device_));
  n_losses_ = 0;
}

// Copies the weights, since eval() and train() of the optimizer would round them.
void Pretrainer::with_eval_weights(const std::function<void()>& use) {
  const MemoryScope scope("average");
  const autograd::NoGrad no_grad;
  std::vector<std::pair<Tensor, Tensor>> kept;  // tensor, copy
  const auto keep = [&](const Tensor& tensor) { kept.emplace_back(tensor, tensor.clone()); };
  for (const Tensor& parameter : module().parameters()) keep(autograd::detach(parameter));
  for (const auto& [name, tensor] : optimizer_.state()) {
    if (name.ends_with(".master")) keep(tensor);
  }
  const auto restore = [&] {
    optimizer_.train();
    for (const auto& [tensor, before] : kept) tensor.copy_from(before);
  };
  optimizer_.eval();
  try {
    use();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

void Pretrainer::with_averaged_weights(const std::function<void()>& use) {
  with_eval_weights([&] {
    if (average_.snapshots() > 0) average_.copy_to_weights();
    use();
  });
}

Checkpoint Pretrainer::checkpoint() {
  Checkpoint made;
  made.step = step_;
  made.datasets = datasets();
  made.configuration = config_.to_json();
  made.tensors["model"] = module().state();
  made.tensors["optimizer"] = optimizer_.state();
  if (average_.snapshots() > 0) made.tensors["average"] = average_.state();
  return made;
}

void Pretrainer::restore(const Checkpoint& checkpoint) {
  check_compatible(PretrainConfig::from_json(checkpoint.configuration));
  for (const char* set : {"model", "optimizer"}) {
    if (checkpoint.tensors.contains(set)) continue;
    fail(ErrorKind::format, "pretrain", fmt::format("the checkpoint has no \"{}\"", set));
  }
  module().load_state(checkpoint.tensors.at("model"));
  optimizer_.load_state(checkpoint.tensors.at("optimizer"));
  const auto average = checkpoint.tensors.find("average");
  average_.load_state(average != checkpoint.tensors.end() ? average->second
                                                          : std::map<std::string, Tensor>());
  step_ = checkpoint.step;
  if (custom_ != nullptr) autograd::set_step(device_, step_);  // of dropout
  reset_losses();
  n_tokens_ = 0;
  n_flops_ = 0;
}

void Pretrainer::check_compatible(const PretrainConfig& other) const {
  check_resumed_settings("pretrain", differences(other, config_),
                         {"model.", "custom_model ", "muon ", "dtype "});
}

}  // namespace causeway::train
