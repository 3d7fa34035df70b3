// Typed pointers of the operands of norms and their gradients, for the CPU and the GPU. nullptr
// marks an operand that is empty. C is the type of the statistics.
#pragma once

#include "causeway/kernels/half_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

template <class T>
struct NormArrays {
  using C = Compute<T>;
  const T* in;
  const T* residual;
  const T* weight;
  const T* bias;
  T* sum;
  T* out;
  C* mean;
  C* rstd;

  NormArrays(const Operand& in_, const Operand& residual_, const Operand& weight_,
             const Operand& bias_, const Operand& sum_, const Operand& out_, const Operand& mean_,
             const Operand& rstd_)
      : in(static_cast<const T*>(in_.data)),
        residual(static_cast<const T*>(residual_.data)),
        weight(static_cast<const T*>(weight_.data)),
        bias(static_cast<const T*>(bias_.data)),
        sum(static_cast<T*>(sum_.data)),
        out(static_cast<T*>(out_.data)),
        mean(static_cast<C*>(mean_.data)),
        rstd(static_cast<C*>(rstd_.data)) {}
};

template <class T>
struct NormGradientArrays {
  using C = Compute<T>;
  const T* x;
  const T* weight;
  const C* mean;
  const C* rstd;
  const T* gradient;
  const T* sum_gradient;
  T* x_gradient;

  NormGradientArrays(const Operand& x_, const Operand& weight_, const Operand& mean_,
                     const Operand& rstd_, const Operand& gradient_, const Operand& sum_gradient_,
                     const Operand& x_gradient_)
      : x(static_cast<const T*>(x_.data)),
        weight(static_cast<const T*>(weight_.data)),
        mean(static_cast<const C*>(mean_.data)),
        rstd(static_cast<const C*>(rstd_.data)),
        gradient(static_cast<const T*>(gradient_.data)),
        sum_gradient(static_cast<const T*>(sum_gradient_.data)),
        x_gradient(static_cast<T*>(x_gradient_.data)) {}
};

template <class T>
struct BatchNormArrays {
  using C = Compute<T>;
  const T* in;
  const T* weight;
  const T* bias;
  C* running_mean;
  C* running_variance;
  T* out;
  C* mean;
  C* rstd;

  BatchNormArrays(const Operand& in_, const Operand& weight_, const Operand& bias_,
                  const Operand& running_mean_, const Operand& running_variance_,
                  const Operand& out_, const Operand& mean_, const Operand& rstd_)
      : in(static_cast<const T*>(in_.data)),
        weight(static_cast<const T*>(weight_.data)),
        bias(static_cast<const T*>(bias_.data)),
        running_mean(static_cast<C*>(running_mean_.data)),
        running_variance(static_cast<C*>(running_variance_.data)),
        out(static_cast<T*>(out_.data)),
        mean(static_cast<C*>(mean_.data)),
        rstd(static_cast<C*>(rstd_.data)) {}
};

template <class T>
struct BatchNormGradientArrays {
  using C = Compute<T>;
  const T* in;
  const T* weight;
  const C* mean;
  const C* rstd;
  const T* gradient;
  T* in_gradient;
  T* weight_gradient;
  T* bias_gradient;

  BatchNormGradientArrays(const Operand& in_, const Operand& weight_, const Operand& mean_,
                          const Operand& rstd_, const Operand& gradient_,
                          const Operand& in_gradient_, const Operand& weight_gradient_,
                          const Operand& bias_gradient_)
      : in(static_cast<const T*>(in_.data)),
        weight(static_cast<const T*>(weight_.data)),
        mean(static_cast<const C*>(mean_.data)),
        rstd(static_cast<const C*>(rstd_.data)),
        gradient(static_cast<const T*>(gradient_.data)),
        in_gradient(static_cast<T*>(in_gradient_.data)),
        weight_gradient(static_cast<T*>(weight_gradient_.data)),
        bias_gradient(static_cast<T*>(bias_gradient_.data)) {}
};

}  // namespace causeway::kernels
