// Launches on the autograd tape: what a kernel writes depends on what it reads, and the backward
// pass launches its adjoint.
#pragma once

#include "causeway/jit/kernel.h"

#include <span>
#include <vector>

namespace causeway::jit {

// An array that the kernel wrote, tracked if something it depends on is.
struct WrittenArray {
  std::size_t parameter = 0;
  Tensor tensor;
};

// Launches the kernel; records the launch if a floating array that it reads requires a gradient.
// The caller's handles of written arrays keep what they recorded: use the returned ones.
//
// An array that the kernel only stores to is a new result, and no gradient flows to its earlier
// content. A leaf that requires a gradient must not be written. What the kernel reads must not
// change until the backward pass; an array that it both reads and writes is copied first.
std::vector<WrittenArray> launch_differentiable(const Kernel& kernel,
                                                std::span<const std::int64_t> dims,
                                                std::span<const Argument> arguments,
                                                const LaunchOptions& options = {});

}  // namespace causeway::jit
