// Optimizers: groups of parameters, each with an algorithm, stepped together. A step reads its
// learning rate, clipping and loss scale from the device and never waits for it, so that it can be
// part of a graph.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/optimizer/optimizer.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::optim {

enum class Algorithm : std::uint8_t {
  sgd,      // momentum, nesterov
  adam,     // weight decay as a part of the gradient
  adamw,    // weight decay apart from it
  rmsprop,  // beta2 of the squares, momentum
  adagrad,
  schedule_free,  // AdamW whose average of the weights stands for a schedule
  muon,           // momentum made orthogonal; matrices only
};

std::string_view to_string(Algorithm algorithm);

struct GroupOptions {
  Algorithm algorithm = Algorithm::adamw;
  double momentum = 0;  // sgd, rmsprop, muon
  double beta1 = 0.9;   // adam, adamw, schedule_free
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double rate_factor = 1;  // of the optimizer's learning rate
  bool nesterov = false;
  int newton_schulz_steps = 5;  // muon
};

struct OptimizerOptions {
  double learning_rate = 1e-3;
  double max_norm = 0;               // gradients are scaled down to this norm; 0: never
  double loss_scale = 1;             // what the loss is multiplied by, for f16
  std::int64_t growth_interval = 0;  // good steps before the loss scale doubles; 0: it stays
};

class Optimizer {
 public:
  explicit Optimizer(const OptimizerOptions& options = {});

  // Tracked, contiguous leaves, all of one device; each once. Halves get a master copy in f32,
  // which takes over what copy_from() writes to the parameter later.
  void add_group(const std::vector<Tensor>& parameters, const GroupOptions& options);

  // One step for every parameter that has a gradient; none if none has. Where a gradient is not
  // finite and the norm or the loss scale is looked at, the step changes nothing.
  void step();
  // Lets go of all gradients.
  void zero_grad();

  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate);
  double max_norm() const { return options_.max_norm; }
  void set_max_norm(double norm);

  // One number each, on the device: of the last step, the norm of its gradients before clipping;
  // the present loss scale.
  Tensor norm() const { return control(kernels::Control::total_norm); }
  Tensor loss_scale() const { return control(kernels::Control::loss_scale); }
  // Steps taken; waits for the device.
  std::int64_t steps() const;

  // Schedule-free parameters are kept where gradients are taken; for use they are averaged.
  void train();
  void eval();

  // States, master copies and counts by name: "control", "missed", "0.3.mean", …, and for
  // schedule-free parameters whether they are "averaged"; loading wants the same groups, and the
  // parameters as they were.
  std::map<std::string, Tensor> state();
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  struct Entry {
    Tensor parameter;
    std::vector<Tensor> states;
    std::optional<Tensor> master;
    std::uint64_t n_writes = 0;  // to the parameter, that the master knows of
  };
  // Matrices of one shape that muon steps together; their entries' states are parts of these.
  struct Stack {
    std::vector<std::size_t> entries;
    Tensor velocity;
    std::optional<Tensor> master;
  };
  struct Group {
    GroupOptions options;
    std::vector<Entry> entries;
    std::vector<Stack> stacks = {};
  };

  // The states of an algorithm by name, in the order the kernels have them.
  static std::vector<const char*> state_names(Algorithm algorithm);
  Tensor control(kernels::Control which) const;
  void set_control(kernels::Control which, double value) const;
  bool watches_norm() const { return options_.max_norm > 0 || scales_; }
  bool has_parameters() const { return control_.numel() > 0; }
  bool has_gradients() const;
  void measure_gradients(StreamView stream);
  void follow_writes();
  // Takes parameters, as they are, for what their masters say.
  void know_writes();
  // Undoes what measuring left in the control block, where nothing is measured any more.
  void forget_norm();
  void extend_missed();
  void count_missed();
  // `missed` begins with the group's own.
  void step_fused(const Group& group, const Tensor& missed, StreamView stream) const;
  static void stack_matrices(Group& group);
  void step_muon(const Group& group) const;
  bool has_averages() const;
  void swap_average(bool to_average);

  OptimizerOptions options_;
  bool scales_ = false;  // whether there is a loss scale
  bool averaged_ = false;
  bool measured_ = false;  // whether the control block may hold a norm's clipping
  Tensor control_;         // f32, see kernels::Control
  Tensor missed_;          // f32: how many of the steps counted each parameter took no part in
  std::vector<Group> groups_;
};

}  // namespace causeway::optim
