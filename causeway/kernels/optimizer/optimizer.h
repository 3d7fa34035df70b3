// Steps of optimizers over many tensors at once. What changes from step to step (learning rate,
// step number, clipping, loss scale) lies in a small block on the device, so that a step needs no
// word from the host and can be replayed as a graph.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace causeway::kernels {

enum class OptimizerOp : std::uint8_t {
  sgd,            // states: velocity
  adam,           // states: mean, square; weight decay as a part of the gradient
  adamw,          // states: mean, square; weight decay apart from it
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
  double rate_factor = 1;  // of this group's learning rate
  bool nesterov = false;
};

// The f32 numbers of the block.
enum class Control : int {
  learning_rate,
  step,            // steps taken, this one included
  gradient_scale,  // what gradients are multiplied by: clipping and the inverse loss scale
  total_norm,      // of all gradients, without the loss scale
  skip,            // not 0 where a gradient was not finite: the step changes nothing
  loss_scale,      // what the loss is multiplied by before going back
  good_steps,      // since the loss scale last changed
  greatest_rate,   // of all learning rates so far
  weight_sum,      // of the schedule-free average
  average_weight,  // of this step in that average
  count,
};

// One tensor of `count` elements. States and the master copy are f32 (f64 for f64 parameters).
struct OptimizerTensor {
  void* parameter = nullptr;
  const void* gradient = nullptr;  // of the parameter's dtype
  void* state[kOptimizerStates] = {};
  void* master = nullptr;  // the parameter in f32, where it is kept in a half; else none
  // How many of the steps counted it took no part in: one f32 on the device.
  const float* missed = nullptr;
  std::int64_t count = 0;
};

struct OptimizerTensors {
  std::span<const OptimizerTensor> list;
  DType dtype = DType::f32;
};

// How a step begins: `control` counts it, unless it is to be skipped, and moves the loss scale,
// which doubles after `growth_interval` good steps and halves after a bad one (0: it stays).
CAUSEWAY_KERNEL(begin_optimizer_step, const Operand& control, std::int64_t growth_interval);

// The sum of all squared gradients, in a fixed order, into `out`, one f64.
CAUSEWAY_KERNEL(gradient_squares, const OptimizerTensors& tensors, const Operand& out);
// The norm of such sums (any number of f64) and what follows from it: gradient_scale (1 /
// loss_scale, times max_norm / norm where that is below 1 and max_norm > 0) and skip.
CAUSEWAY_KERNEL(gradient_norm, const Operand& squares, double max_norm, const Operand& control);

CAUSEWAY_KERNEL(optimizer_step, const OptimizerSettings& settings, const OptimizerTensors& tensors,
                const Operand& control);

}  // namespace causeway::kernels
