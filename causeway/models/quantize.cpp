#include "causeway/models/quantize.h"

#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"

namespace causeway::models {

QuantizedMatrix quantize_rows(const Tensor& matrix) {
  const Tensor wide = matrix.to(DType::f32);
  const Tensor largest = max(unary(UnaryOp::absolute, wide), {1}, true);
  const Tensor scales = largest / Scalar(127);
  // A row of zeros has a scale of zero.
  const Tensor divisor = where(compare(CompareOp::greater, scales, Scalar(0)), scales,
                               ones({}, DType::f32, matrix.device()));
  return {unary(UnaryOp::round, wide / divisor).to(DType::i8), scales.flatten()};
}

Tensor dequantize(const QuantizedMatrix& matrix, DType dtype) {
  return (matrix.values.to(DType::f32) * matrix.scales.unsqueeze(1)).to(dtype);
}

}  // namespace causeway::models
