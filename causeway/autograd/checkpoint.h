// Activation checkpointing: intermediate results of a block are not kept but recomputed in the
// backward pass.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

using Block = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// Returns block(inputs), tracked. The block runs again during backward, with the same dropout.
// Tensors that it uses besides its inputs receive gradients as usual.
std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs);

}  // namespace causeway::autograd
