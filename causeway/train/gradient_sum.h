// Sums the gradients of several backward passes in f32, for steps on one rank whose batch is cut
// into micro-batches. Several ranks sum them in the buckets of GradientSync.
//
//   sum.reset();
//   for (part : parts) backward(loss(part) * share), sum.add();
//   sum.store();
#pragma once

#include "causeway/tensor/tensor.h"

#include <vector>

namespace causeway::train {

class GradientSum {
 public:
  explicit GradientSum(std::vector<Tensor> parameters);

  void reset() const;
  // Adds the gradients of the parameters and removes them.
  void add() const;
  // Makes the sums the gradients of the parameters.
  void store() const;

 private:
  std::vector<Tensor> parameters_;
  Tensor sums_;
  std::vector<Tensor> views_;  // of sums_, one per parameter
};

}  // namespace causeway::train
