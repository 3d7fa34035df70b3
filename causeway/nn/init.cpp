#include "causeway/nn/init.h"

#include "causeway/core/error.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"

#include <cmath>

#include <fmt/format.h>

namespace causeway::nn {

Generator& default_generator() {
  static Generator generator(0);
  return generator;
}

void fill_(const Tensor& x, double value) { x.copy_from(full({}, value, x.dtype(), x.device())); }

void uniform_(const Tensor& x, double low, double high, Generator& generator) {
  if (low == high) return fill_(x, low);
  x.copy_from(generator.uniform(x.shape(), low, high, DType::f32, x.device()));
}

void normal_(const Tensor& x, double mean, double deviation, Generator& generator) {
  x.copy_from(generator.normal(x.shape(), mean, deviation, DType::f32, x.device()));
}

void truncated_normal_(const Tensor& x, double deviation, double cut, Generator& generator) {
  if (!(cut >= 1)) fail(ErrorKind::invalid_argument, "truncated_normal_", "cut must be at least 1");
  Tensor values = generator.normal(x.shape(), 0, 1, DType::f32, x.device());
  // At cut 1 each pass leaves 32% of the outliers, so 64 passes replace all of them.
  for (int i = 0; i < 64; ++i) {
    const Tensor outside =
        compare(CompareOp::greater, unary(UnaryOp::absolute, values), Scalar(cut));
    if (any(outside).item_integer() == 0) break;
    values = where(outside, generator.normal(x.shape(), 0, 1, DType::f32, x.device()), values);
  }
  x.copy_from(values * Scalar(deviation));
}

Fans fans_of(const Tensor& weight) {
  if (weight.n_dims() < 2) {
    fail(
        ErrorKind::shape_mismatch, "init",
        fmt::format("fan-in of a weight of shape {} is undefined; expected at least two dimensions",
                    to_string(weight.shape())));
  }
  double field = 1;
  for (int axis = 2; axis < weight.n_dims(); ++axis) {
    field *= static_cast<double>(weight.shape()[axis]);
  }
  return {static_cast<double>(weight.size(1)) * field, static_cast<double>(weight.size(0)) * field};
}

void xavier_uniform_(const Tensor& weight, double gain, Generator& generator) {
  const Fans fans = fans_of(weight);
  const double bound = gain * std::sqrt(6 / (fans.in + fans.out));
  uniform_(weight, -bound, bound, generator);
}

void xavier_normal_(const Tensor& weight, double gain, Generator& generator) {
  const Fans fans = fans_of(weight);
  normal_(weight, 0, gain * std::sqrt(2 / (fans.in + fans.out)), generator);
}

void kaiming_uniform_(const Tensor& weight, double gain, Generator& generator) {
  const double bound = gain * std::sqrt(3 / fans_of(weight).in);
  uniform_(weight, -bound, bound, generator);
}

void kaiming_normal_(const Tensor& weight, double gain, Generator& generator) {
  normal_(weight, 0, gain / std::sqrt(fans_of(weight).in), generator);
}

}  // namespace causeway::nn
