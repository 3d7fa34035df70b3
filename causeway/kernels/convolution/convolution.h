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
  std::array<std::int64_t, 2> dilation{1, 1};  // distance between kernel taps
  std::int64_t groups = 1;
  bool allow_tf32 = false;
};

// out (images, out_channels, …) is the cross-correlation of in with weight (out_channels,
// in_channels / groups, height, width). All have one floating dtype; 16-bit types accumulate in
// f32.
CAUSEWAY_KERNEL(convolution, const Convolution& how, const Operand& in, const Operand& weight,
                const Operand& out);
CAUSEWAY_KERNEL(convolution_input_gradient, const Convolution& how, const Operand& gradient,
                const Operand& weight, const Operand& in_gradient);
CAUSEWAY_KERNEL(convolution_weight_gradient, const Convolution& how, const Operand& in,
                const Operand& gradient, const Operand& weight_gradient);

enum class PoolOp : std::uint8_t {
  max,      // over the window without padding; NaN propagates
  average,  // over the whole window, padding counted as zeros
};

std::string_view to_string(PoolOp op);

struct Pooling {
  PoolOp op = PoolOp::max;
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  std::array<std::int64_t, 2> padding{0, 0};  // at most half the window
};

// `indices` (i32, only for max, may be empty) receives the position of each output in its image's
// plane: the first one in case of ties.
CAUSEWAY_KERNEL(pool, const Pooling& how, const Operand& in, const Operand& out,
                const Operand& indices);
// `in_gradient` is summed in a fixed order; `indices` is from the forward pass for max.
CAUSEWAY_KERNEL(pool_gradient, const Pooling& how, const Operand& gradient, const Operand& indices,
                const Operand& in_gradient);

}  // namespace causeway::kernels
