// Sums the gradients of several backward passes in f32, for steps whose batch is cut into
// micro-batches.
//
//   sum.reset();
//   for (part : parts) backward(loss(part) * share), sum.add();
//   sum.store(group);
#pragma once

#include "causeway/dist/group.h"
#include "causeway/tensor/tensor.h"

#include <vector>

namespace causeway::train {

class GradientSum {
 public:
  explicit GradientSum(std::vector<Tensor> parameters);

  void reset() const;
  // Adds the gradients of the parameters and removes them.
  void add() const;
  // Averages the sums over all ranks and makes them the gradients of the parameters.
  void store(dist::Group& group) const;

 private:
  std::vector<Tensor> parameters_;
  Tensor sums_;
  std::vector<Tensor> views_;  // of sums_, one per parameter
};

}  // namespace causeway::train
