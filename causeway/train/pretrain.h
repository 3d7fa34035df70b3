// Pre-trains a tabular transformer on datasets that a prior generates concurrently. A step
// (forward, backward, clip, update) is one CUDA graph per shape; no data is copied through the
// host. Batches that do not fit in memory are cut into micro-batches. With a custom model a step is
// neither captured nor cut.
#pragma once

#include "causeway/autograd/step_graph.h"
#include "causeway/dist/group.h"
#include "causeway/models/tabular.h"
#include "causeway/optim/average.h"
#include "causeway/optim/optimizer.h"
#include "causeway/optim/schedule.h"
#include "causeway/train/checkpoint.h"
#include "causeway/train/gradient_sum.h"
#include "causeway/train/gradient_sync.h"
#include "causeway/train/memory_plan.h"
#include "causeway/train/pretrain_config.h"
#include "causeway/train/run_loop.h"
#include "causeway/train/table_stream.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace causeway::train {

class Pretrainer {
 public:
  // The group must outlive this. `memory` bytes limit the device's pool while this exists; 0 leaves
  // its limit as it is. Throws unless `parts` has what the configuration names.
  Pretrainer(const PretrainConfig& config, Device device, dist::Group& group,
             std::size_t memory = 0, const RunParts& parts = {});

  const PretrainConfig& config() const { return config_; }
  const MemoryPlan& plan() const { return *plan_; }  // without a custom model
  std::int64_t step() const { return step_; }        // steps taken
  std::int64_t datasets() const { return step_ * config_.batch; }
  models::TabularTransformer& model() { return *model_; }  // without a custom model
  nn::Module& module() const;                              // that model, or the custom one
  const TableSource& source() const { return *source_; }
  // The datasets of the next step.
  models::Tables new_tables();

  // Queues one step without waiting for it. Throws if another rank was lost. On a CPU and without
  // other ranks, an interrupt request (core/interrupt.h) ends the step before it changes a weight.
  void advance();
  // The mean loss of the steps since the last call, over all ranks, and the gradient norm of the
  // last step. Waits for the device. Throws on all ranks if the loss is not finite.
  using Progress = TrainingJob::Progress;
  Progress progress();
  // Tokens (including padding and the target's) since the last call, over all ranks. A custom model
  // counts as one that has a token per column.
  std::int64_t take_tokens() { return std::exchange(n_tokens_, 0); }
  // The floating-point operations of this rank since the last call, by TabularConfig::step_flops.
  double take_flops() { return std::exchange(n_flops_, 0); }
  // Calls `use` with averaged weights in the model, then restores the training weights bit for bit.
  void with_averaged_weights(const std::function<void()>& use);

  Checkpoint checkpoint();
  // Throws a format error for a checkpoint of another model, optimizer or dtype, and warns about
  // other settings that differ.
  void restore(const Checkpoint& checkpoint);

 private:
  bool can_abandon_step() const { return device_ == Device::cpu() && group_.size() == 1; }
  MemoryPlan make_plan();
  bool try_step(const models::Tables& tables);
  std::vector<Tensor> train_on(const models::Tables& tables);
  // Both return the loss, f32.
  Tensor compute_gradients(const models::Tables& tables);
  Tensor loss_of(const models::Tables& tables);
  // Forward and backward pass of one part, of the loss times `share`.
  Tensor pass(const models::Tables& tables, double share, bool last);
  void reset_losses();
  void check_compatible(const PretrainConfig& other) const;
  // Calls `use` with the optimizer in evaluation mode, then restores the training weights.
  void with_eval_weights(const std::function<void()>& use);

  PretrainConfig config_;
  Device device_;
  dist::Group& group_;
  const LimitScope limit_;
  std::shared_ptr<CustomModel> custom_;
  std::shared_ptr<models::TabularTransformer> model_;  // without a custom one
  optim::Optimizer optimizer_;
  std::optional<MemoryPlan> plan_;  // without a custom model
  GradientSync sync_;
  std::optional<GradientSum> sum_;  // if some batches are cut, on one rank
  std::shared_ptr<TableSource> source_;
  autograd::StepGraph graph_;
  optim::LastAverage average_;
  Tensor losses_;  // sum since the last progress()
  std::int64_t n_losses_ = 0;
  std::int64_t n_tokens_ = 0;
  double n_flops_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace causeway::train
