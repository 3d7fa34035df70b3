// Softmax and normalisation of rows, and of channels. Rows are those of a contiguous matrix
// (n_rows, n_columns). The operands of a call have one floating dtype, except the statistics, which
// are f32 (f64 for f64). Optional operands may be empty (no data).
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>
#include <string_view>

namespace causeway::kernels {

enum class SoftmaxOp : std::uint8_t { softmax, log_softmax };
enum class NormOp : std::uint8_t { layer, rms };

std::string_view to_string(SoftmaxOp op);
std::string_view to_string(NormOp op);

// A row of only -inf gives NaN.
CAUSEWAY_KERNEL(softmax, SoftmaxOp op, const Operand& in, const Operand& out, std::int64_t n_rows,
                std::int64_t n_columns);
// From the result of the forward pass and its gradient; `result` may be `gradient`.
CAUSEWAY_KERNEL(softmax_gradient, SoftmaxOp op, const Operand& out, const Operand& gradient,
                const Operand& result, std::int64_t n_rows, std::int64_t n_columns);

// Normalisation of rows: out = (x - mean) * rstd * weight + bias with x = in + residual; rms uses
// mean 0. `weight` and `bias` have n_columns, `mean` and `rstd` n_rows elements.
struct Norm {
  NormOp op = NormOp::layer;
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;
  double epsilon = 1e-5;
};

// Optional: residual, sum (receives x; only with residual), weight, bias, mean (for rms).
CAUSEWAY_KERNEL(norm, const Norm& how, const Operand& in, const Operand& residual,
                const Operand& weight, const Operand& bias, const Operand& sum, const Operand& out,
                const Operand& mean, const Operand& rstd);
// The gradients of x, weight and bias. `sum_gradient` is optional: the gradient of `sum`, added to
// x's. The gradients of weight and bias are summed in a fixed order.
CAUSEWAY_KERNEL(norm_gradient, const Norm& how, const Operand& x, const Operand& weight,
                const Operand& mean, const Operand& rstd, const Operand& gradient,
                const Operand& sum_gradient, const Operand& x_gradient,
                const Operand& weight_gradient, const Operand& bias_gradient);

// Normalises each channel of a contiguous (images, channels, pixels) cube; the axis is the channel.
struct BatchNorm {
  Cube cube;
  bool training = true;  // uses the batch's statistics and updates the running ones
  double momentum = 0.1;
  double epsilon = 1e-5;
};

// `running_mean` and `running_variance` (unbiased) have the dtype of the statistics; they are read
// if not training and optional in training. `mean` and `rstd` receive the statistics used.
CAUSEWAY_KERNEL(batch_norm, const BatchNorm& how, const Operand& in, const Operand& weight,
                const Operand& bias, const Operand& running_mean, const Operand& running_variance,
                const Operand& out, const Operand& mean, const Operand& rstd);
CAUSEWAY_KERNEL(batch_norm_gradient, const BatchNorm& how, const Operand& in, const Operand& weight,
                const Operand& mean, const Operand& rstd, const Operand& gradient,
                const Operand& in_gradient, const Operand& weight_gradient,
                const Operand& bias_gradient);

}  // namespace causeway::kernels
