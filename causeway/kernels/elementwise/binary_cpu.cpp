// Arithmetic, comparison and selection of two elements. Bound by memory.
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace causeway::kernels::cpu {

namespace {

// The elements of an operand in `n_rows` runs of `count`; strides are in elements.
struct Elements {
  void* data;
  std::int64_t stride;
  std::int64_t row_stride;
};

// Computes n_rows runs of the innermost dimension. Element types are erased, so that the loop nest
// is compiled once and not for each operation and type.
using Rows = void (*)(std::int64_t n_rows, std::int64_t count, Elements a, Elements b,
                      Elements out);

template <class T, class Out, class Function>
void compute_rows(std::int64_t n_rows, std::int64_t count, Elements a, Elements b, Elements out) {
  for (std::int64_t row = 0; row < n_rows; ++row) {
    map_row(count, static_cast<const T*>(a.data) + row * a.row_stride, a.stride,
            static_cast<const T*>(b.data) + row * b.row_stride, b.stride,
            static_cast<Out*>(out.data) + row * out.row_stride, out.stride,
            [](T x, T y) CAUSEWAY_INLINE {
              return static_cast<Out>(
                  Function()(static_cast<Compute<T>>(x), static_cast<Compute<T>>(y)));
            });
  }
}

// The loop over the rows of a nest of at least two dimensions.
Loop<3> row_loop(const Loop<3>& loop) {
  Loop<3> rows;
  rows.n_dims = loop.n_dims - 1;
  std::copy(loop.size.begin() + 1, loop.size.end(), rows.size.begin());
  for (std::size_t k = 0; k < 3; ++k) {
    std::copy(loop.stride[k].begin() + 1, loop.stride[k].end(), rows.stride[k].begin());
  }
  return rows;
}

void map(Rows compute, const Operand& a, const Operand& b, const Operand& out) {
  constexpr std::int64_t kLong = 4096;  // elements: such a run is worth a call
  const auto loop = make_loop<3>({&out, &a, &b});
  const std::array<const Operand*, 3> operands = {&out, &a, &b};
  const auto run = [&](std::int64_t n_rows, std::int64_t count,
                       const std::array<std::int64_t, 3>& offset) {
    const auto elements = [&](std::size_t k) -> Elements {
      auto* data = static_cast<std::byte*>(operands[k]->data) +
                   offset[k] * static_cast<std::int64_t>(size_of(operands[k]->dtype));
      return {data, loop.stride[k][0], loop.stride[k][1]};
    };
    compute(n_rows, count, elements(1), elements(2), elements(0));
  };
  if (loop.n_dims == 1 || loop.size[0] >= kLong) {
    return for_each_row(loop,
                        [&](std::int64_t count, const auto& offset) { run(1, count, offset); });
  }
  for_each_row(
      row_loop(loop),
      [&](std::int64_t n_rows, const auto& offset) { run(n_rows, loop.size[0], offset); },
      kGrain / std::max<std::int64_t>(loop.size[0], 1));
}

}  // namespace

void binary(StreamView, BinaryOp op, const Operand& a, const Operand& b, const Operand& out) {
  dispatch_all(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) { map(compute_rows<T, T, decltype(function)>, a, b, out); });
  });
}

void compare(StreamView, CompareOp op, const Operand& a, const Operand& b, const Operand& out) {
  dispatch_all(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) { map(compute_rows<T, bool, decltype(function)>, a, b, out); });
  });
}

void where(StreamView, const Operand& condition, const Operand& a, const Operand& b,
           const Operand& out) {
  const auto loop = make_loop<4>({&out, &condition, &a, &b});
  dispatch_size(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 4>& offset) {
      T* to = static_cast<T*>(out.data) + offset[0];
      const bool* mask = static_cast<const bool*>(condition.data) + offset[1];
      const T* from_a = static_cast<const T*>(a.data) + offset[2];
      const T* from_b = static_cast<const T*>(b.data) + offset[3];
      for (std::int64_t i = 0; i < count; ++i) {
        to[i * loop.stride[0][0]] = mask[i * loop.stride[1][0]] ? from_a[i * loop.stride[2][0]]
                                                                : from_b[i * loop.stride[3][0]];
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
