// Dropout, and where its randomness comes from: the k-th call since begin_step, of the n-th step of
// the seed. The step's number lies on the device, so that a replayed graph draws anew each time.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

// Each element is 0 with this probability, else divided by 1 - probability; x itself when not
// `training`.
Tensor dropout(const Tensor& x, double probability, bool training = true);

// Restarts the randomness of this process at the first step of a seed; at first the seed is 0. Like
// begin_step, not between a forward pass and its backward.
void manual_seed(std::uint64_t seed);

// The next step: one is added to the number on `device`, and calls count from 0 again.
void begin_step(Device device);
std::int64_t current_step(Device device);
void set_step(Device device, std::int64_t step);

// Of which seed, and which call within the step comes next; checkpointed blocks go back to where
// they were.
struct DropoutPlace {
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
};
DropoutPlace dropout_place();
// The step's number on a device.
const Tensor& dropout_step(Device device);
void set_dropout_place(const DropoutPlace& place);

}  // namespace causeway::autograd
