#include "causeway/models/quantize.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/reduce.h"

#include <fmt/format.h>

namespace causeway::models {

namespace {

constexpr const char* kScales = ".scales";

// The name of the matrix whose scales these are; empty for another tensor.
std::string matrix_of_scales(const std::string& name, const State& state) {
  if (!name.ends_with(kScales)) return "";
  std::string matrix = name.substr(0, name.size() - std::string_view(kScales).size());
  return state.contains(matrix) ? matrix : "";
}

}  // namespace

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

State quantize_state(const State& state,
                     const std::function<bool(const std::string&, const Tensor&)>& is_chosen) {
  State made;
  for (const auto& [name, tensor] : state) {
    if (!is_chosen(name, tensor)) {
      made.emplace(name, tensor);
      continue;
    }
    QuantizedMatrix matrix = quantize_rows(tensor);
    made.emplace(name, std::move(matrix.values));
    made.emplace(name + kScales, std::move(matrix.scales));
  }
  return made;
}

State dequantize_state(const State& state, DType dtype) {
  State made;
  for (const auto& [name, tensor] : state) {
    if (!matrix_of_scales(name, state).empty()) continue;
    if (tensor.dtype() != DType::i8) {
      made.emplace(name, tensor);
      continue;
    }
    const auto scales = state.find(name + kScales);
    if (scales == state.end() || tensor.n_dims() != 2 ||
        scales->second.shape() != Shape{tensor.size(0)} || scales->second.dtype() != DType::f32) {
      fail(ErrorKind::format, "dequantize",
           fmt::format("\"{}\" is i8 of shape {}; expected a matrix with one f32 scale per row in "
                       "\"{}{}\"",
                       name, to_string(tensor.shape()), name, kScales));
    }
    made.emplace(name, dequantize({tensor, scales->second}, dtype));
  }
  return made;
}

}  // namespace causeway::models
