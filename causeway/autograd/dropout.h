// Dropout, and where its randomness comes from: the k-th call since begin_step, of the n-th step of
// the seed. The step's number lies on the device, so that a replayed graph draws anew each time.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

// Each element is 0 with this probability, else divided by 1 - probability; x itself when not
// `training`.
Tensor dropout(const Tensor& x, double probability, bool training = true);

// Restarts the randomness of this process at the first step of a seed; at first the seed is 0.
void manual_seed(std::uint64_t seed);

// The next step: one is added to the number on `device`, and calls count from 0 again.
void begin_step(Device device);
std::int64_t current_step(Device device);
void set_step(Device device, std::int64_t step);

// Which call comes next within the step; checkpointed blocks go back to where they were.
std::uint64_t dropout_calls();
void set_dropout_calls(std::uint64_t calls);

}  // namespace causeway::autograd
