// Differentiable losses.
#pragma once

#include "causeway/autograd/tape.h"
#include "causeway/kernels/activation/activation.h"

#include <cstdint>

namespace causeway::autograd {

using kernels::LossOp;

enum class Reduction : std::uint8_t { mean, sum, none };

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;  // over targets that are not ignored
  bool overwrite_logits = false;          // the gradient reuses the memory of the logits
};

// Logits (..., classes) and integer classes (...), or probabilities of the logits' shape. The
// gradient is computed together with the loss, so that the logits are read once. The loss is f32
// (f64 for f64).
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

// Elementwise, reduced in the operands' dtype; shapes broadcast.
Tensor elementwise_loss(LossOp op, double parameter, const Tensor& prediction, const Tensor& target,
                        Reduction reduction = Reduction::mean);
inline Tensor mse_loss(const Tensor& prediction, const Tensor& target,
                       Reduction reduction = Reduction::mean) {
  return elementwise_loss(LossOp::squared, 0, prediction, target, reduction);
}

}  // namespace causeway::autograd
