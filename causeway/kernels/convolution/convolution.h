// Convolution and pooling of images. Tensors are contiguous (images, channels, height, width).
#pragma once

#include "causeway/kernels/operand.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace causeway::kernels {

struct Convolution {
  std::array<std::int64_t, 2> stride{1, 1};    // height, width
  std::array<std::int64_t, 2> padding{0, 0};   // zeros on both sides
  std::array<std::int64_t, 2> dilation{1, 1};  // distance of the kernel's taps
  std::int64_t groups = 1;
  bool allow_tf32 = false;
};

// out (images, out_channels, …) = weight (out_channels, in_channels / groups, height, width)
// correlated with in; all of one floating dtype, f32 sums for the halves.
CAUSEWAY_KERNEL(convolution, const Convolution& how, const Operand& in, const Operand& weight,
                const Operand& out);
CAUSEWAY_KERNEL(convolution_input_gradient, const Convolution& how, const Operand& gradient,
                const Operand& weight, const Operand& in_gradient);
CAUSEWAY_KERNEL(convolution_weight_gradient, const Convolution& how, const Operand& in,
                const Operand& gradient, const Operand& weight_gradient);

enum class PoolOp : std::uint8_t {
  max,      // of what the window covers; NaN wins
  average,  // of the whole window, padding counted as zeros
};

std::string_view to_string(PoolOp op);

struct Pooling {
  PoolOp op = PoolOp::max;
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  std::array<std::int64_t, 2> padding{0, 0};  // at most half the window
};

// `indices` (i32, of max only, may be left out) takes where in its image's plane each output came
// from: the first of equals.
CAUSEWAY_KERNEL(pool, const Pooling& how, const Operand& in, const Operand& out,
                const Operand& indices);
// `in_gradient` is summed in a fixed order; `indices` is the forward's for max.
CAUSEWAY_KERNEL(pool_gradient, const Pooling& how, const Operand& gradient, const Operand& indices,
                const Operand& in_gradient);

}  // namespace causeway::kernels
