// Weights rounded to 8 bits: each row of a matrix has a scale, its largest magnitude / 127.
#pragma once

#include "causeway/tensor/tensor.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace causeway::models {

struct QuantizedMatrix {
  Tensor values;  // i8 (rows, columns)
  Tensor scales;  // f32 (rows)
};

QuantizedMatrix quantize_rows(const Tensor& matrix);

// x (…, in) times the transpose of weight (out, in), plus bias (out) in f32: (…, out) in the dtype
// of x. The rows of x are rounded to 8 bits too; sums of products are exact.
Tensor int8_linear(const Tensor& x, const QuantizedMatrix& weight,
                   const std::optional<Tensor>& bias = {});

// values * scales, rounded to `dtype`. Quantizing an f32 result again gives the same values.
Tensor dequantize(const QuantizedMatrix& matrix, DType dtype);

// Tensors by name, as Module::state() returns them.
using State = std::map<std::string, Tensor>;

// Replaces the tensors that `is_chosen` accepts by i8 values and their scales, "<name>.scales".
State quantize_state(const State& state,
                     const std::function<bool(const std::string&, const Tensor&)>& is_chosen);

// The reverse. Throws format errors for i8 values without scales of their rows.
State dequantize_state(const State& state, DType dtype);

}  // namespace causeway::models
