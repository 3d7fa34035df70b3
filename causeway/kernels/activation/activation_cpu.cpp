// Activations, losses and derivatives on the CPU. Bound by memory for the simple ones, by
// arithmetic for the others.
#include "causeway/kernels/activation/activation.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/activation/visit_activation.h"

namespace causeway::kernels::cpu {

namespace {

// Contiguous values, or one repeated value.
template <class T>
struct Run {
  const T* data;
  bool repeats;
  Compute<T> operator[](std::int64_t i) const { return static_cast<Compute<T>>(data[i]); }
};

template <class T>
Run<T> run_of(const Operand& operand) {
  const bool repeats = bytes_of(operand) == sizeof(T);
  return {static_cast<const T*>(operand.data), repeats};
}

// out[i] = function(in[i]...); only the last input may be one repeated value.
template <class T, class Function, class... In>
void map_dense(const Operand& out, const Function& function, const Operand& last,
               const In&... before) {
  auto* to = static_cast<T*>(out.data);
  const Run<T> final_run = run_of<T>(last);
  parallel_for(numel(out.shape), kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (final_run.repeats) {
      const auto value = final_run[0];
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<T>(
            function(static_cast<Compute<T>>(static_cast<const T*>(before.data)[i])..., value));
      }
      return;
    }
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      to[i] = static_cast<T>(function(
          static_cast<Compute<T>>(static_cast<const T*>(before.data)[i])..., final_run[i]));
    }
  });
}

}  // namespace

void unary_gradient(StreamView, UnaryOp op, const Operand& saved, const Operand& gradient,
                    const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_derivative(op, [&](auto rule) { map_dense<T>(out, rule, gradient, saved); });
  });
}

void activation(StreamView, const Activation& how, const Operand& in, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how,
                      [&](auto f) { map_dense<T>(out, derivatives::Value<decltype(f)>{f}, in); });
  });
}

void activation_gradient(StreamView, const Activation& how, const Operand& in,
                         const Operand& gradient, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(
        how, [&](auto f) { map_dense<T>(out, derivatives::Slope<decltype(f)>{f}, gradient, in); });
  });
}

void loss(StreamView, const Loss& how, const Operand& prediction, const Operand& target,
          const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>(out, derivatives::Value<decltype(f)>{f}, target, prediction);
    });
  });
}

void loss_gradient(StreamView, const Loss& how, const Operand& prediction, const Operand& target,
                   const Operand& gradient, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit<Compute<T>>(how, [&](auto f) {
      map_dense<T>(out, derivatives::Slope<decltype(f)>{f}, gradient, prediction, target);
    });
  });
}

}  // namespace causeway::kernels::cpu
