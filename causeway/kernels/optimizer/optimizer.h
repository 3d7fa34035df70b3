// Optimizer steps over many tensors at once. Values that change from step to step (learning rate,
// step number, clipping, loss scale) are in a small control block on the device, so that a step
// needs no data from the host and can be replayed as a graph.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace causeway::kernels {

enum class OptimizerOp : std::uint8_t {
  sgd,            // states: velocity
  adam,           // states: mean, square; weight decay added to the gradient
  adamw,          // states: mean, square; decoupled weight decay
  rmsprop,        // states: square, velocity
  adagrad,        // states: sum of squares
  schedule_free,  // AdamW without a schedule. States: z, square; the parameter is y
};

std::string_view to_string(OptimizerOp op);

inline constexpr int kOptimizerStates = 2;

struct OptimizerSettings {
  OptimizerOp op = OptimizerOp::sgd;
  double beta1 = 0.9;    // of the mean, or the momentum
  double beta2 = 0.999;  // of the squares
  double epsilon = 1e-8;
  double weight_decay = 0;
  double rate_factor = 1;  // factor of this group's learning rate
  bool nesterov = false;
};

// The f32 values of the control block.
enum class Control : int {
  learning_rate,
  step,            // steps taken, including this one
  gradient_scale,  // factor of the gradients: clipping and the inverse loss scale
  total_norm,      // of all gradients, without the loss scale
  skip,            // nonzero if a gradient was not finite: the step changes nothing
  loss_scale,      // factor of the loss before the backward pass
  good_steps,      // since the loss scale last changed
  greatest_rate,   // maximum learning rate so far
  weight_sum,      // of the schedule-free average
  average_weight,  // of this step in that average
  count,
};

// One tensor of `count` elements. States and the master copy are f32 (f64 for f64 parameters).
struct OptimizerTensor {
  void* parameter = nullptr;
  const void* gradient = nullptr;  // of the parameter's dtype
  void* state[kOptimizerStates] = {};
  void* master = nullptr;  // the f32 copy of a 16-bit parameter; else nullptr
  // The number of counted steps it did not take part in: one f32 on the device.
  const float* missed = nullptr;
  std::int64_t count = 0;
};

struct OptimizerTensors {
  std::span<const OptimizerTensor> list;
  DType dtype = DType::f32;
};

// Begins a step: counts it in `control`, unless it is skipped, and updates the loss scale, which
// doubles after `growth_interval` good steps and halves after a bad one (0: it is constant).
CAUSEWAY_KERNEL(begin_optimizer_step, const Operand& control, std::int64_t growth_interval);

// The sum of all squared gradients, in a fixed order, into `out`, one f64.
CAUSEWAY_KERNEL(gradient_squares, const OptimizerTensors& tensors, const Operand& out);
// Computes the norm from such sums (any number of f64) and sets gradient_scale (1 / loss_scale,
// times max_norm / norm if that is below 1 and max_norm > 0) and skip.
CAUSEWAY_KERNEL(gradient_norm, const Operand& squares, double max_norm, const Operand& control);

CAUSEWAY_KERNEL(optimizer_step, const OptimizerSettings& settings, const OptimizerTensors& tensors,
                const Operand& control);

}  // namespace causeway::kernels
