// Optimizers: groups of parameters, each with an algorithm, updated together. A step reads learning
// rate, clipping and loss scale from device memory and never synchronises with the host, so that it
// can be part of a CUDA graph.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/optimizer/optimizer.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::optim {

enum class Algorithm : std::uint8_t {
  sgd,      // momentum, nesterov
  adam,     // L2 weight decay, added to the gradient
  adamw,    // decoupled weight decay
  rmsprop,  // beta2 for the squares, momentum
  adagrad,
  schedule_free,  // AdamW with weight averaging instead of a schedule
  muon,           // orthogonalised momentum; 2-D parameters only
};

std::string_view to_string(Algorithm algorithm);

struct GroupOptions {
  Algorithm algorithm = Algorithm::adamw;
  double momentum = 0;  // sgd, rmsprop, muon
  double beta1 = 0.9;   // adam, adamw, schedule_free
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double rate_factor = 1;  // multiplies the optimizer's learning rate
  bool nesterov = false;
  int newton_schulz_steps = 5;  // muon
};

// The names of the states of an algorithm, such as "mean" and "square".
std::vector<const char*> state_names(Algorithm algorithm);

struct OptimizerOptions {
  double learning_rate = 1e-3;
  double max_norm = 0;               // clips the total gradient norm; 0: off
  double loss_scale = 1;             // multiplier of the loss, for f16
  std::int64_t growth_interval = 0;  // good steps before the loss scale doubles; 0: constant
};

class Optimizer {
 public:
  explicit Optimizer(const OptimizerOptions& options = {});

  // Contiguous leaves that require gradients, all on one device, each once. 16-bit parameters get
  // f32 master weights, which follow later copy_from() writes to the parameter.
  void add_group(const std::vector<Tensor>& parameters, const GroupOptions& options);

  // Replaces the options of a group, but not its algorithm. A captured graph keeps the old ones;
  // only the learning rate is read from device memory.
  void set_group_options(std::size_t group, const GroupOptions& options);

  // For parameters that are distributed over ranks: `reduce` is called in every step that measures
  // the gradient norm, with the sums of squares (f64, on the device), and adds those of other
  // ranks.
  void set_norm_reduction(std::function<void(const Tensor& squares)> reduce);

  // Updates every parameter that has a gradient. With clipping or a loss scale, a step with a
  // non-finite gradient changes nothing.
  void step();
  // Releases all gradients.
  void zero_grad();

  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate);
  double max_norm() const { return options_.max_norm; }
  void set_max_norm(double norm);

  // Scalars on the device: the gradient norm of the last step before clipping; the current loss
  // scale.
  Tensor norm() const { return control(kernels::Control::total_norm); }
  Tensor loss_scale() const { return control(kernels::Control::loss_scale); }
  // Number of steps taken; synchronises with the device.
  std::int64_t steps() const;

  // Schedule-free: train() restores the weights at which gradients are evaluated, eval() the
  // averaged ones.
  void train();
  void eval();

  // States, master weights and counters by name: "control", "missed", "0.3.mean", ..., and
  // "averaged" for schedule-free groups. Loading requires the same groups, and the parameters as
  // they were when saved.
  std::map<std::string, Tensor> state();
  void load_state(const std::map<std::string, Tensor>& state);

 private:
  struct Entry {
    Tensor parameter;
    std::vector<Tensor> states;
    std::optional<Tensor> master;
    std::uint64_t n_writes = 0;  // writes to the parameter that the master reflects
  };
  // Parameters of one shape that muon updates together; their states are slices of these.
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

  Tensor control(kernels::Control which) const;
  void set_control(kernels::Control which, double value) const;
  bool watches_norm() const { return options_.max_norm > 0 || scales_; }
  bool has_parameters() const { return control_.numel() > 0; }
  bool has_gradients() const;
  void measure_gradients(StreamView stream);
  void follow_writes();
  // Marks all parameters as equal to their masters.
  void know_writes();
  // Resets the norm and clipping factor of the control block when clipping is off.
  void forget_norm();
  void extend_missed();
  void count_missed();
  // `missed` starts at the group's first parameter.
  void step_fused(const Group& group, const Tensor& missed, StreamView stream) const;
  static void stack_matrices(Group& group);
  void step_muon(const Group& group) const;
  bool has_averages() const;
  void swap_average(bool to_average);

  OptimizerOptions options_;
  bool scales_ = false;  // whether there is a loss scale
  bool averaged_ = false;
  bool measured_ = false;  // whether the control block may hold a clipping factor
  Tensor control_;         // f32, see kernels::Control
  Tensor missed_;          // f32: steps in which each parameter had no gradient
  std::vector<Group> groups_;
  std::function<void(const Tensor&)> reduce_squares_;
};

// What add_group takes.
struct ParameterGroup {
  std::vector<Tensor> parameters;
  GroupOptions options;
};

// Groups of Muon: the learning rate of a matrix is multiplied by `factor` and the square root of
// its longer side.
std::vector<ParameterGroup> muon_groups(const std::vector<Tensor>& matrices, double factor,
                                        double weight_decay);

}  // namespace causeway::optim
