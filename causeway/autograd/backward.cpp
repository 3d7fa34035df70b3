// backward(): checks of its arguments, and the runs of the engine.
#include "causeway/autograd/backward_engine.h"
#include "causeway/core/error.h"
#include "causeway/runtime/pool.h"
#include "causeway/tensor/create.h"

#include <fmt/format.h>

namespace causeway::autograd {

void backward(const Tensor& root, const std::optional<Tensor>& gradient, bool retain) {
  if (!requires_grad(root)) {
    fail(ErrorKind::invalid_argument, "backward",
         "no tensor that this one was computed from requires a gradient; call requires_grad_() on "
         "a leaf, and compute outside of no_grad()");
  }
  if (!gradient.has_value() && root.numel() != 1) {
    fail(ErrorKind::shape_mismatch, "backward",
         fmt::format(
             "a tensor of shape {} is not a scalar; reduce it, or pass a gradient of its shape",
             to_string(root.shape())));
  }
  if (gradient.has_value() && gradient->shape() != root.shape()) {
    fail(ErrorKind::shape_mismatch, "backward",
         fmt::format("gradient of shape {} given for a tensor of shape {}",
                     to_string(gradient->shape()), to_string(root.shape())));
  }
  const NoGrad plain;
  const MemoryScope scope("gradients");
  const Tensor seed = gradient.has_value() ? detach(gradient->to(root.dtype()).to(root.device()))
                                           : ones(root.shape(), root.dtype(), root.device());
  BackwardEngine engine(root, seed, !gradient.has_value(), retain);
  engine.run();
}

std::vector<std::optional<Tensor>> internal::backward_until(std::span<const Tensor> roots,
                                                            const std::vector<Tensor>& gradients,
                                                            std::span<const Tensor> ends) {
  const NoGrad plain;
  BackwardEngine engine(roots, gradients, ends);
  engine.run();
  std::vector<std::optional<Tensor>> found;
  for (const Tensor& end : ends) found.push_back(engine.gradient_at(end));
  return found;
}

}  // namespace causeway::autograd
