// Rotary position embedding, differentiable.
#pragma once

#include "causeway/autograd/tape.h"

#include <cstdint>

namespace causeway::autograd {

// The cosines and sines of positions 0 … length - 1 for heads of an even size: (length, size / 2,
// 2) f32. Pair i turns by position * base^(-2 i / size).
Tensor rotary_table(std::int64_t length, std::int64_t head_size, double base, Device device);

// Rotates the first `n_rotated` heads of x (batch, length, heads, size) by their positions.
Tensor rotary(const Tensor& x, const Tensor& table, std::int64_t n_rotated);

}  // namespace causeway::autograd
