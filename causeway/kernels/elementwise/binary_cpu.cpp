// Arithmetic, comparison and selection of two elements. Bound by memory.
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

#include <cstddef>

namespace causeway::kernels::cpu {

namespace {

// One run of the innermost dimension, with its element types erased: the loop nest is compiled once
// and not for each operation and type.
using Row = void (*)(std::int64_t count, const void* a, std::int64_t a_stride, const void* b,
                     std::int64_t b_stride, void* out, std::int64_t out_stride);

template <class T, class Out, class Function>
void compute_row(std::int64_t count, const void* a, std::int64_t a_stride, const void* b,
                 std::int64_t b_stride, void* out, std::int64_t out_stride) {
  map_row(
      count, static_cast<const T*>(a), a_stride, static_cast<const T*>(b), b_stride,
      static_cast<Out*>(out), out_stride, [](T x, T y) CAUSEWAY_INLINE {
        return static_cast<Out>(Function()(static_cast<Compute<T>>(x), static_cast<Compute<T>>(y)));
      });
}

void map(Row row, const Operand& a, const Operand& b, const Operand& out) {
  const auto loop = make_loop<3>({&out, &a, &b});
  const auto at = [](const Operand& operand, std::int64_t offset) {
    return static_cast<std::byte*>(operand.data) +
           offset * static_cast<std::int64_t>(size_of(operand.dtype));
  };
  for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 3>& offset) {
    row(count, at(a, offset[1]), loop.stride[1][0], at(b, offset[2]), loop.stride[2][0],
        at(out, offset[0]), loop.stride[0][0]);
  });
}

}  // namespace

void binary(StreamView, BinaryOp op, const Operand& a, const Operand& b, const Operand& out) {
  dispatch_all(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) { map(compute_row<T, T, decltype(function)>, a, b, out); });
  });
}

void compare(StreamView, CompareOp op, const Operand& a, const Operand& b, const Operand& out) {
  dispatch_all(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) { map(compute_row<T, bool, decltype(function)>, a, b, out); });
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
