// Weights rounded to 8 bits: each row of a matrix has a scale, its largest magnitude / 127.
#pragma once

#include "causeway/tensor/tensor.h"

namespace causeway::models {

struct QuantizedMatrix {
  Tensor values;  // i8 (rows, columns)
  Tensor scales;  // f32 (rows)
};

QuantizedMatrix quantize_rows(const Tensor& matrix);

// values * scales, rounded to `dtype`. Quantizing an f32 result again gives the same values.
Tensor dequantize(const QuantizedMatrix& matrix, DType dtype);

}  // namespace causeway::models
