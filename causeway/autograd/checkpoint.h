// Trading arithmetic for memory: a block whose inner results are not kept but computed again on the
// way back.
#pragma once

#include "causeway/autograd/tape.h"

namespace causeway::autograd {

using Block = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

// block(inputs), its results tracked; the block runs a second time during backward, with the same
// dropout. What it uses besides its inputs receives gradients as usual.
std::vector<Tensor> checkpoint(const Block& block, const std::vector<Tensor>& inputs);

}  // namespace causeway::autograd
