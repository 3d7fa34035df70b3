// One step of Muon (Jordan, 2024): the momentum of a matrix, orthogonalised by a few Newton-Schulz
// iterations, so that all directions are learned at the same rate. Matrices of one shape are
// processed as a stack (n, rows, columns), since single products are too small for a GPU.
#pragma once

#include "causeway/tensor/tensor.h"

#include <optional>
#include <span>

namespace causeway::optim {

struct MuonStep {
  double momentum = 0.95;
  double weight_decay = 0;
  double rate_factor = 1;
  double epsilon = 1e-7;
  bool nesterov = true;
  int iterations = 5;
};

// Approximates U V^T of each matrix's singular vectors: the singular values end in [0.7, 1.2].
// Computed in bf16 on a GPU, otherwise in the matrices' dtype.
Tensor orthogonalize(const Tensor& matrices, int iterations, double epsilon);

// Updates matrices of one shape, whose velocities and master weights are stacks. Reads learning
// rate, gradient scale and skip flag from the optimizer's control block on the device.
void muon_step(const MuonStep& how, std::span<const Tensor> parameters,
               std::span<const Tensor> gradients, const Tensor& velocity,
               const std::optional<Tensor>& master, const Tensor& control);

}  // namespace causeway::optim
