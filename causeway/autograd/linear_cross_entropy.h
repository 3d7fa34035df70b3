// The cross entropy of a linear layer's output, as at the end of a language model.
#pragma once

#include "causeway/autograd/tape.h"

#include <cstdint>
#include <optional>

namespace causeway::autograd {

struct LinearCrossEntropyOptions {
  std::int64_t n_classes = 0;        // rows of the weight after these are padding; 0: no padding
  std::int64_t ignore_index = -100;  // rows with this target have no loss
  std::int64_t chunk_bytes = 0;      // of the logits that exist at once; 0: chosen by device
  std::optional<Tensor> scale;       // one f32 on the device that multiplies the loss (for f16)
};

// The mean over rows of cross_entropy(linear(x, weight), targets) for x (…, width), weight
// (classes, width) and integer targets (…). The rows are processed in chunks, so that the logits of
// all rows never exist at once. Gradients are computed in the same pass; the weight's gradient is
// summed over chunks in f32.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options = {});

// The rows whose logits exist at once, for a head of `n_classes` rows.
std::int64_t rows_per_chunk(std::int64_t n_classes, DType dtype, Device device,
                            std::int64_t chunk_bytes = 0);

}  // namespace causeway::autograd
