// Pre-training of a tabular transformer on datasets that a prior makes meanwhile. A step (forward,
// backward, clip, update) is one graph for each shape; nothing is copied through the host.
#pragma once

#include "causeway/autograd/step_graph.h"
#include "causeway/dist/group.h"
#include "causeway/models/tabular.h"
#include "causeway/optim/average.h"
#include "causeway/optim/optimizer.h"
#include "causeway/optim/schedule.h"
#include "causeway/train/checkpoint.h"
#include "causeway/train/gradient_sync.h"
#include "causeway/train/pretrain_config.h"
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
  // The group must outlive this.
  Pretrainer(const PretrainConfig& config, Device device, dist::Group& group);

  const PretrainConfig& config() const { return config_; }
  std::int64_t step() const { return step_; }  // steps taken
  std::int64_t datasets() const { return step_ * config_.batch; }
  models::TabularTransformer& model() { return *model_; }
  const TableStream& stream() const { return stream_; }

  // Takes one step; queued, not waited for. Throws where another rank is lost.
  void advance();
  // The mean loss of the steps since the last call, over all ranks, and the last step's norm of
  // gradients; waits for the device. Throws, on all ranks, where the loss is not finite.
  struct Progress {
    double loss = 0;
    double norm = 0;
  };
  Progress progress();
  // Cells (rows times columns, the target among them) of the tables since the last call, padding
  // included, over all ranks.
  std::int64_t take_tokens() { return std::exchange(n_tokens_, 0); }
  // What those took of a rank, by TabularConfig::step_flops.
  double take_flops() { return std::exchange(n_flops_, 0); }
  // Calls `use` with the weights that are good to use (averaged) in the model, then puts those of
  // training back, to the bit.
  void with_averaged_weights(const std::function<void(models::TabularTransformer&)>& use);

  Snapshot snapshot();
  // Goes on where the snapshot was taken; throws a format error for one of another model,
  // optimizer or dtype, and warns of other settings that differ.
  void restore(const Snapshot& snapshot);

 private:
  std::vector<Tensor> train_on(const models::Tables& tables);
  void forget_losses();
  void check_fit(const PretrainConfig& of_snapshot) const;
  // Calls `use` with the optimizer's averages as weights, then puts those of training back.
  void evaluated(const std::function<void()>& use);

  PretrainConfig config_;
  Device device_;
  dist::Group& group_;
  std::shared_ptr<models::TabularTransformer> model_;
  optim::Optimizer optimizer_;
  std::unique_ptr<GradientSync> sync_;
  TableStream stream_;
  autograd::StepGraph graph_;
  optim::LastAverage average_;
  Tensor losses_;  // their sum since they were last asked for
  std::int64_t n_losses_ = 0;
  std::int64_t n_tokens_ = 0;
  double n_flops_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace causeway::train
