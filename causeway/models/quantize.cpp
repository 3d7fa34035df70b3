#include "causeway/models/quantize.h"

#include "causeway/core/error.h"
#include "causeway/kernels/int8/int8.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/operand.h"

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
  const Tensor from = matrix.contiguous();
  const StreamView stream = current_stream(matrix.device());
  QuantizedMatrix made{Tensor::empty(matrix.shape(), DType::i8, matrix.device()),
                       Tensor::empty({matrix.size(0)}, DType::f32, matrix.device())};
  kernels::quantize_rows(stream, operand(from, stream), operand(made.values, stream),
                         operand(made.scales, stream));
  return made;
}

Tensor int8_linear(const Tensor& x, const QuantizedMatrix& weight,
                   const std::optional<Tensor>& bias) {
  const std::int64_t n_outputs = weight.values.size(0);
  Shape shape = x.shape();
  shape[x.n_dims() - 1] = n_outputs;
  const QuantizedMatrix rows = quantize_rows(x.reshape({-1, x.size(-1)}));
  const Tensor out = Tensor::empty({rows.values.size(0), n_outputs}, x.dtype(), x.device());
  const StreamView stream = current_stream(x.device());
  kernels::int8_linear(stream, operand(rows.values, stream), operand(rows.scales, stream),
                       operand(weight.values, stream), operand(weight.scales, stream),
                       bias.has_value() ? operand(*bias, stream) : kernels::Operand(),
                       operand(out, stream));
  return out.reshape(shape);
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
