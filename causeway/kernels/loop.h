// The loop nest of an elementwise kernel: the operands' common shape without size-1 dimensions,
// ordered by the first operand's strides. Adjacent dimensions are merged if every operand can step
// through them as one. A contiguous call has one dimension.
#pragma once

#include "causeway/kernels/operand.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace causeway::kernels {

template <int kOperands>
struct Loop {
  int n_dims = 0;                                                      // 1 or more
  std::array<std::int64_t, kMaxDims> size{};                           // innermost first
  std::array<std::array<std::int64_t, kMaxDims>, kOperands> stride{};  // in elements

  std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < n_dims; ++i) product *= size[static_cast<std::size_t>(i)];
    return product;
  }
};

// The first operand is the output.
template <int kOperands>
Loop<kOperands> make_loop(const std::array<const Operand*, kOperands>& operands) {
  Loop<kOperands> loop;
  const Shape& shape = operands[0]->shape;
  const auto swap_dims = [&](std::size_t i, std::size_t j) {
    std::swap(loop.size[i], loop.size[j]);
    for (auto& stride : loop.stride) std::swap(stride[i], stride[j]);
  };
  for (int dim = shape.size() - 1; dim >= 0; --dim) {
    if (shape[dim] == 1) continue;
    const auto at = static_cast<std::size_t>(loop.n_dims++);
    loop.size[at] = shape[dim];
    for (std::size_t k = 0; k < kOperands; ++k) loop.stride[k][at] = operands[k]->strides[dim];
    // Insertion sort by the output's stride; it is stable, so row-major calls keep their order.
    for (std::size_t i = at; i > 0 && std::abs(loop.stride[0][i]) < std::abs(loop.stride[0][i - 1]);
         --i) {
      swap_dims(i, i - 1);
    }
  }
  if (loop.n_dims == 0) {
    loop.n_dims = 1;
    loop.size[0] = 1;
    return loop;
  }
  int kept = 0;
  for (int dim = 1; dim < loop.n_dims; ++dim) {
    const auto from = static_cast<std::size_t>(dim);
    const auto into = static_cast<std::size_t>(kept);
    bool merges = true;
    for (const auto& stride : loop.stride) {
      merges = merges && stride[from] == stride[into] * loop.size[into];
    }
    if (merges) {
      loop.size[into] *= loop.size[from];
    } else {
      swap_dims(static_cast<std::size_t>(++kept), from);
    }
  }
  loop.n_dims = kept + 1;
  return loop;
}

}  // namespace causeway::kernels
