// The loss of a classifier, with its gradient in the same pass: the logits are read once and the
// gradient written once.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>

namespace causeway::kernels {

struct CrossEntropy {
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;
  std::int64_t ignore_index = -100;  // of integer targets: such a row has no loss and no gradient
  double smoothing = 0;              // the share of the target spread evenly over all classes
};

// 1 / (how many targets are not ignored), or 0 where all are, into `out` (one f32; f64 for f64
// logits): what makes a mean of the losses. Integer targets only.
CAUSEWAY_KERNEL(target_weight, const CrossEntropy& how, const Operand& targets, const Operand& out);

// Contiguous `logits` (n_rows, n_columns) of a floating dtype. `targets` are n_rows i64 classes
// (one out of range and not ignored is an error, see runtime/fault.h), or probabilities of the
// logits' shape and dtype. `losses` takes n_rows f32 (f64 for f64 logits). `gradient` takes
// (softmax - target) * scale, with the one number `scale` points at (of the losses' dtype; 1 where
// left out), or is left out; it may be `logits` itself.
CAUSEWAY_KERNEL(cross_entropy, const CrossEntropy& how, const Operand& logits,
                const Operand& targets, const Operand& scale, const Operand& losses,
                const Operand& gradient);

}  // namespace causeway::kernels
