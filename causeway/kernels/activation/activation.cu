// Activations, losses and derivatives on the GPU. Bytes: each input and the output once; bound by
// memory. Operands are contiguous, so one kernel per function is enough.
#include "causeway/kernels/activation/activation.h"

#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/activation/visit_activation.h"

#include <algorithm>

namespace causeway::kernels::cuda {

namespace {

template <class T>
Input<T> dense_input(const Operand& operand, std::int64_t offset) {
  Input<T> input;
  input.repeats = bytes_of(operand) == sizeof(T);
  input.data = static_cast<const T*>(operand.data) + (input.repeats ? 0 : offset);
  return input;
}

template <class T, class Function, class... In>
void map_dense(const char* name, StreamView stream, const Operand& out, const Function& function,
               const In&... in) {
  constexpr int kVec = vector_width<T>();
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const std::int64_t all = numel(out.shape);
  for (std::int64_t offset = 0; offset < all; offset += kMost) {
    const auto count = static_cast<std::uint32_t>(std::min(kMost, all - offset));
    launch({name, stream, grid_for((count + kVec - 1) / kVec, 1), dim3(kThreads)},
           flat_kernel<kVec, Function, T, Repeat<Input<T>, sizeof(In)>...>, function, count,
           static_cast<T*>(out.data) + offset, dense_input<T>(in, offset)...);
  }
}

}  // namespace

void unary_gradient(StreamView stream, UnaryOp op, const Operand& saved, const Operand& gradient,
                    const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_derivative(
        op, [&](auto rule) { map_dense<T>("unary_gradient", stream, out, rule, saved, gradient); });
  });
}

void activation(StreamView stream, const Activation& how, const Operand& in, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>("activation", stream, out, derivatives::Value<decltype(f)>{f}, in);
    });
  });
}

void activation_gradient(StreamView stream, const Activation& how, const Operand& in,
                         const Operand& gradient, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>("activation_gradient", stream, out, derivatives::Slope<decltype(f)>{f}, in,
                   gradient);
    });
  });
}

void loss(StreamView stream, const Loss& how, const Operand& prediction, const Operand& target,
          const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>("loss", stream, out, derivatives::Value<decltype(f)>{f}, prediction, target);
    });
  });
}

void loss_gradient(StreamView stream, const Loss& how, const Operand& prediction,
                   const Operand& target, const Operand& gradient, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>("loss_gradient", stream, out, derivatives::Slope<decltype(f)>{f}, prediction,
                   target, gradient);
    });
  });
}

}  // namespace causeway::kernels::cuda
