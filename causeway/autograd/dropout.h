// Dropout and its random generator. Masks depend on the seed, the step, and the number of the call
// since begin_step. The step number is in device memory, so that each replay of a graph draws new
// masks.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

// Sets each element to 0 with this probability and divides the others by 1 - probability; returns x
// itself if not `training`.
Tensor dropout(const Tensor& x, double probability, bool training = true);

// Resets the generator of this process to step 0 of a seed (default: 0). Like begin_step, do not
// call it between a forward pass and its backward pass.
void manual_seed(std::uint64_t seed);

// Increments the step number on `device` and resets the call counter.
void begin_step(Device device);
std::int64_t current_step(Device device);
void set_step(Device device, std::int64_t step);

// Seed and next call within the step; checkpointed blocks restore it.
struct DropoutPlace {
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
};
DropoutPlace dropout_place();
// The step number on a device.
const Tensor& dropout_step(Device device);
void set_dropout_place(const DropoutPlace& place);

}  // namespace causeway::autograd
