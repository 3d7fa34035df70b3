// Cross-entropy loss with its gradient in the same pass: the logits are read once and the gradient
// is written once.
#pragma once

#include "causeway/kernels/operand.h"

#include <cstdint>

namespace causeway::kernels {

struct CrossEntropy {
  std::int64_t n_rows = 0;
  std::int64_t n_columns = 0;
  std::int64_t ignore_index = -100;  // for integer targets: such a row has no loss and no gradient
  double smoothing = 0;              // label smoothing: the weight spread evenly over all classes
};

// 1 / (number of targets that are not ignored), or 0 if all are, into `out` (one f32; f64 for f64
// logits): the factor that averages the losses. Integer targets only.
CAUSEWAY_KERNEL(target_weight, const CrossEntropy& how, const Operand& targets, const Operand& out);

// `logits` (n_rows, n_columns) are contiguous and floating. `targets` are n_rows i64 classes (a
// class out of range that is not ignored is an error, see runtime/fault.h), or probabilities of the
// logits' shape and dtype. `losses` receives n_rows f32 (f64 for f64 logits). `gradient` receives
// (softmax - target) * scale and may be empty, or `logits` itself. `scale` is one number of the
// losses' dtype; 1 if empty.
CAUSEWAY_KERNEL(cross_entropy, const CrossEntropy& how, const Operand& logits,
                const Operand& targets, const Operand& scale, const Operand& losses,
                const Operand& gradient);

}  // namespace causeway::kernels
