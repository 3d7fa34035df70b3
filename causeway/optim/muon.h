// One step of Muon (Jordan, 2024): the momentum of a matrix, made orthogonal by a few Newton-Schulz
// iterations, so that every direction is learned at one rate. Matrices of one shape go together, as
// a stack (n, rows, columns): on a GPU their products are small.
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

// U V^T of each matrix's singular vectors, nearly: the singular values come within [0.7, 1.2]. In
// bf16 on a GPU, in the matrices' own type elsewhere.
Tensor orthogonalize(const Tensor& matrices, int iterations, double epsilon);

// Steps matrices of one shape, whose velocities and masters are stacks. Reads learning rate,
// gradient scale and skip from the optimizer's control block on the device.
void muon_step(const MuonStep& how, std::span<const Tensor> parameters,
               std::span<const Tensor> gradients, const Tensor& velocity,
               const std::optional<Tensor>& master, const Tensor& control);

}  // namespace causeway::optim
