// Unary operations. Bound by memory for simple operations, by arithmetic for f64 transcendental
// functions.
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/scalar.h"
#include "causeway/kernels/elementwise/visit_elementwise.h"

#include <type_traits>

namespace causeway::kernels::cpu {

namespace {

// sin and cos of f32: our vectorisable functions, unless the run contains an angle too large for
// them.
template <class Ours, class Exact>
void map_angles(std::int64_t count, const float* in, std::int64_t in_stride, float* out,
                std::int64_t out_stride, const Ours& ours, const Exact& exact) {
  constexpr std::int64_t kRun = 1024;
  for (std::int64_t start = 0; start < count; start += kRun) {
    const std::int64_t run = std::min(kRun, count - start);
    const float* from = in + start * in_stride;
    float* to = out + start * out_stride;
    bool small = true;
    for (std::int64_t i = 0; i < run; ++i) {
      small &= std::fabs(from[i * in_stride]) <= elementary::kTrigonometryLimit;
    }
    if (small) {
      map_row(run, from, in_stride, to, out_stride, ours);
    } else {
      map_row(run, from, in_stride, to, out_stride, exact);
    }
  }
}

template <class T, class Function>
void map(const Operand& in, const Operand& out, const Function& function) {
  const auto loop = make_loop<2>({&out, &in});
  const auto* from = static_cast<const T*>(in.data);
  auto* to = static_cast<T*>(out.data);
  for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 2>& offset) {
    const T* row_in = from + offset[1];
    T* row_out = to + offset[0];
    const std::int64_t in_stride = loop.stride[1][0];
    const std::int64_t out_stride = loop.stride[0][0];
    if constexpr (std::is_same_v<T, float> && std::is_same_v<Function, functors::Sin>) {
      map_angles(
          count, row_in, in_stride, row_out, out_stride,
          [](float x) CAUSEWAY_INLINE { return elementary::sin(x); }, function);
    } else if constexpr (std::is_same_v<T, float> && std::is_same_v<Function, functors::Cos>) {
      map_angles(
          count, row_in, in_stride, row_out, out_stride,
          [](float x) CAUSEWAY_INLINE { return elementary::cos(x); }, function);
    } else {
      map_row(count, row_in, in_stride, row_out, out_stride,
              [&](T x) { return static_cast<T>(function(static_cast<Compute<T>>(x))); });
    }
  });
}

}  // namespace

void unary(StreamView, UnaryOp op, const Operand& in, const Operand& out) {
  if (needs_floating(op)) {
    dispatch_floating(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      visit_floating_op(op, [&](auto function) { map<T>(in, out, function); });
    });
  } else {
    dispatch_number(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      visit_number_op(op, [&](auto function) { map<T>(in, out, function); });
    });
  }
}

void predicate(StreamView, PredicateOp op, const Operand& in, const Operand& out) {
  const auto loop = make_loop<2>({&out, &in});
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit(op, [&](auto function) {
      for_each_row(loop, [&](std::int64_t count, const std::array<std::int64_t, 2>& offset) {
        map_row(count, static_cast<const T*>(in.data) + offset[1], loop.stride[1][0],
                static_cast<bool*>(out.data) + offset[0], loop.stride[0][0],
                [&](T x) CAUSEWAY_INLINE { return function(static_cast<Compute<T>>(x)); });
      });
    });
  });
}

void clamp(StreamView, const Operand& in, Scalar low, Scalar high, const Operand& out) {
  dispatch_number(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    map<T>(in, out, functors::Clamp<C>{scalar_as<C>(low), scalar_as<C>(high)});
  });
}

}  // namespace causeway::kernels::cpu
