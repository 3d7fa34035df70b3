// Data parallelism with sharded optimizer state (ZeRO-1). Every rank has all weights and computes
// gradients of its part of the batch. Gradients are reduced to the ranks that own them during the
// backward pass; each rank updates the parameters it owns and sends them to the others. Moments and
// f32 master weights exist once over all ranks. AdamW is split by elements, Muon by matrices.
//
//   ShardedOptimizer optimizer(group, options, model.parameters(), groups);
//   optimizer.backward(loss);
//   optimizer.step();
//
// In a group of one it is a plain optimizer.
#pragma once

#include "causeway/optim/optimizer.h"
#include "causeway/train/gradient_sync.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace causeway::train {

class ShardedOptimizer {
 public:
  // `parameters` are f32 or 16-bit, in the order of the forward pass; each is in one of `groups`.
  // The group must outlive this. Throws invalid_argument if there are too few for the ranks.
  ShardedOptimizer(dist::Group& group, const optim::OptimizerOptions& options,
                   const std::vector<Tensor>& parameters,
                   const std::vector<optim::ParameterGroup>& groups);

  // The backward pass of a step, or of one of several micro-batches; see GradientSync. In a group
  // of one, gradients accumulate in the parameters.
  void backward(const Tensor& loss, bool last = true);
  // Updates the weights of all ranks and releases the gradients. All ranks must call it.
  void step();

  void set_learning_rate(double rate) { optimizer_.set_learning_rate(rate); }
  Tensor norm() const { return optimizer_.norm(); }  // over all ranks
  Tensor loss_scale() const { return optimizer_.loss_scale(); }
  void zero_grad() { optimizer_.zero_grad(); }

  // Bytes of moments and master weights on this rank.
  std::size_t state_bytes();

  // The state of optim::Optimizer with these groups, whatever the number of ranks: a run can resume
  // with another one. All ranks must call state(); those other than 0 get an empty map. Load the
  // parameters first.
  std::map<std::string, Tensor> state();
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  // Where a parameter is in the groups.
  struct Member {
    std::size_t group = 0;
    std::size_t index = 0;    // in the group
    std::int64_t number = 0;  // among the parameters of all groups
    optim::Algorithm algorithm = optim::Algorithm::adamw;
    Tensor parameter;
    std::string key(const std::string& name) const;
  };
  // A piece that this rank owns.
  struct Shard {
    std::size_t bucket = 0;
    BucketPiece piece;
    Tensor values;       // f32: a view of the parameter, or its master weights
    std::string prefix;  // of its state in optimizer_, such as "2.0."
  };

  bool is_sharded() const { return sync_.has_value(); }
  void add_members(const std::vector<Tensor>& parameters,
                   const std::vector<optim::ParameterGroup>& groups);
  void add_shards(const std::vector<optim::ParameterGroup>& groups);
  void gather_weights();
  void receive_weights(const BucketLayout& layout, const Tensor& weights);
  std::vector<std::string> state_names(const BucketLayout& layout) const;
  void collect(std::size_t bucket, const std::string& name,
               const std::map<std::string, Tensor>& own, std::map<std::string, Tensor>& all);
  Tensor collect_missed(const std::map<std::string, Tensor>& own);
  void require_state(const std::map<std::string, Tensor>& state) const;

  dist::Group& group_;
  optim::Optimizer optimizer_;   // of the shards
  std::vector<Member> members_;  // in the order of the forward pass
  std::optional<GradientSync> sync_;
  std::vector<Shard> shards_;  // in the order of optimizer_'s parameters
};

}  // namespace causeway::train
