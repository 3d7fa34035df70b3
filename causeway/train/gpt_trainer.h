// Trains a GPT on a stream of tokens, with several ranks by data parallelism and sharded optimizer
// state. A step (forward, backward, clip, update) is one CUDA graph.
#pragma once

#include "causeway/autograd/step_graph.h"
#include "causeway/data/token_stream.h"
#include "causeway/dist/group.h"
#include "causeway/models/gpt.h"
#include "causeway/models/quantize.h"
#include "causeway/runtime/pool.h"
#include "causeway/train/gpt_config.h"
#include "causeway/train/gpt_memory_plan.h"
#include "causeway/train/gradient_sum.h"
#include "causeway/train/sharded_optimizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace causeway::train {

class GptTrainer {
 public:
  // `training` and `validation` hold ids below the model's vocabulary. The group must outlive this.
  // `memory` bytes limit the device's pool while this exists; 0 leaves its limit as it is. The
  // initial weights are `weights`, or drawn if there are none. Throws invalid_argument if the batch
  // cannot be divided among ranks and passes, or the data is too short, and out_of_memory if not
  // even one sequence fits.
  GptTrainer(const GptTrainConfig& config, const data::TokenData& training,
             const std::optional<data::TokenData>& validation, Device device, dist::Group& group,
             std::size_t memory = 0, const models::State& weights = {});

  const GptTrainConfig& config() const { return config_; }
  const GptMemoryPlan& plan() const { return plan_; }
  Device device() const { return device_; }
  std::int64_t step() const { return step_; }  // steps taken
  std::int64_t tokens_per_step() const { return config_.batch * config_.model.length; }
  models::Gpt& model() { return *model_; }
  // Bytes of the optimizer's moments and master weights on this rank.
  std::size_t state_bytes() { return optimizer_.state_bytes(); }

  // Queues one step without waiting for it. Throws if another rank was lost. On a CPU and without
  // other ranks, an interrupt request (core/interrupt.h) ends the step before it changes a weight.
  void advance();
  // The mean loss of the steps since the last call, over all ranks, and the gradient norm of the
  // last step. Waits for the device. Throws on all ranks if the loss is not finite.
  TrainingJob::Progress progress();
  // The mean loss of the first `batches` batches of the validation tokens; nullopt without such
  // tokens. The same for any number of ranks, except for rounding.
  std::optional<double> validation_loss(std::int64_t batches);

  // All ranks must call it; that of rank 0 is complete and can be restored with any number of
  // ranks.
  Checkpoint checkpoint();
  // Throws a format error for a checkpoint of another model, optimizer or dtype, and warns about
  // other settings that differ.
  void restore(const Checkpoint& checkpoint);

 private:
  std::vector<Tensor> train_on(const Tensor& tokens, const Tensor& targets);
  // Forward and backward pass of one part of the batch, the last one of a step last; returns its
  // loss.
  Tensor pass(const Tensor& tokens, const Tensor& targets, bool last);
  // All parts; returns the loss.
  Tensor compute_gradients(const Tensor& tokens, const Tensor& targets);
  void reset_losses();
  void check_compatible(const GptTrainConfig& other) const;

  GptTrainConfig config_;
  Device device_;
  dist::Group& group_;
  const LimitScope limit_;
  const GptMemoryPlan plan_;
  std::int64_t n_parts_;  // passes per step
  std::shared_ptr<models::Gpt> model_;
  std::vector<Tensor> parameters_;
  ShardedOptimizer optimizer_;
  // With several passes on one rank. Several ranks sum gradients in the optimizer's buckets.
  std::optional<GradientSum> sum_;
  data::TokenStream stream_;
  std::optional<data::TokenStream> validation_;
  autograd::StepGraph graph_;
  Tensor losses_;  // sum since the last progress()
  std::int64_t n_losses_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace causeway::train
