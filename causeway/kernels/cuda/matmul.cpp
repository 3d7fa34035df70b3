// Matrix products of operands with strides and batches, and the products of linear layers, by
// cuBLASLt. Bound by arithmetic.
#include "causeway/kernels/matmul.h"

#include "causeway/kernels/activation.h"
#include "causeway/kernels/cuda/product.h"
#include "causeway/kernels/matmul_layout.h"
#include "causeway/kernels/reduce.h"
#include "causeway/runtime/cuda_check.h"

#include <array>

namespace causeway::kernels::cuda {

namespace {

// Batch dimensions, innermost first, merged where both operands step through them as through one;
// the first goes to the library, the others are walked here.
struct Batches {
  std::array<std::int64_t, kMaxDims> size{1};
  std::array<std::int64_t, kMaxDims> stride_a{};
  std::array<std::int64_t, kMaxDims> stride_b{};
  std::size_t n_dims = 1;
};

Batches merge_batches(const Operand& a, const Operand& b) {
  Batches merged;
  bool empty = true;
  for (int dim = a.shape.size() - 3; dim >= 0; --dim) {
    if (a.shape[dim] == 1) continue;
    const std::size_t last = merged.n_dims - 1;
    const bool joins = !empty && a.strides[dim] == merged.stride_a[last] * merged.size[last] &&
                       b.strides[dim] == merged.stride_b[last] * merged.size[last];
    if (joins) {
      merged.size[last] *= a.shape[dim];
      continue;
    }
    const std::size_t at = empty ? 0 : merged.n_dims++;
    merged.size[at] = a.shape[dim];
    merged.stride_a[at] = a.strides[dim];
    merged.stride_b[at] = b.strides[dim];
    empty = false;
  }
  return merged;
}

Problem problem_of(StreamView stream, const Operand& a, const Operand& b, const Operand& out,
                   bool allow_tf32) {
  const MatrixLayout layout_a = matrix_layout(a);
  const MatrixLayout layout_b = matrix_layout(b);
  Problem problem;
  problem.m = layout_a.rows;
  problem.n = layout_b.columns;
  problem.k = layout_a.columns;
  problem.leading_a = layout_a.leading;
  problem.leading_b = layout_b.leading;
  problem.transposed_a = layout_a.transposed;
  problem.transposed_b = layout_b.transposed;
  problem.device = stream.device().index;
  problem.dtype = static_cast<std::uint8_t>(out.dtype);
  problem.tf32 = allow_tf32;
  return problem;
}

// Whether an epilogue's operands lie as the library wants them: the product's own width in rows of
// 16 bytes.
bool fits_epilogue(const Problem& problem, const ProductData& data, DType dtype) {
  const auto width = problem.n * static_cast<std::int64_t>(size_of(dtype));
  const auto bits =
      reinterpret_cast<std::uintptr_t>(data.aux) | reinterpret_cast<std::uintptr_t>(data.bias);
  return dtype != DType::f64 && width % 16 == 0 && bits % 16 == 0;
}

// The epilogue after the product, by kernels of its own.
void finish(StreamView stream, Epilogue epilogue, const Operand& bias, const Operand& aux,
            const Operand& out) {
  const auto add_bias = [&](const Operand& to) {
    if (bias.data == nullptr) return;
    Operand row = bias;
    row.shape = to.shape;
    row.strides = {0, 1};
    binary(stream, BinaryOp::add, to, row, to);
  };
  switch (epilogue) {
    case Epilogue::none: return;
    case Epilogue::bias: return add_bias(out);
    case Epilogue::bias_gelu:
      add_bias(out);
      copy(stream, out, aux);
      return unary(stream, UnaryOp::gelu_tanh, aux, out);
    case Epilogue::gelu_gradient: return unary_gradient(stream, UnaryOp::gelu_tanh, aux, out, out);
  }
}

}  // namespace

void matmul(StreamView stream, const Operand& a, const Operand& b, const Operand& out,
            bool allow_tf32) {
  const driver::DeviceScope scope(stream.device().index);
  const Batches batches = merge_batches(a, b);
  Problem problem = problem_of(stream, a, b, out, allow_tf32);
  problem.batches = batches.size[0];
  problem.stride_a = batches.stride_a[0];
  problem.stride_b = batches.stride_b[0];
  std::int64_t outer = 1;
  for (std::size_t dim = 1; dim < batches.n_dims; ++dim) outer *= batches.size[dim];
  const auto element = static_cast<std::int64_t>(size_of(out.dtype));
  for (std::int64_t i = 0; i < outer; ++i) {
    std::int64_t offset_a = 0;
    std::int64_t offset_b = 0;
    std::int64_t rest = i;
    for (std::size_t dim = 1; dim < batches.n_dims; ++dim) {
      offset_a += rest % batches.size[dim] * batches.stride_a[dim];
      offset_b += rest % batches.size[dim] * batches.stride_b[dim];
      rest /= batches.size[dim];
    }
    const auto* from_a = static_cast<const std::byte*>(a.data) + offset_a * element;
    const auto* from_b = static_cast<const std::byte*>(b.data) + offset_b * element;
    auto* to =
        static_cast<std::byte*>(out.data) + i * batches.size[0] * problem.m * problem.n * element;
    problem.alignment = alignment_of(from_a, from_b, to);
    ProductData data;
    data.a = from_a;
    data.b = from_b;
    data.out = to;
    multiply(stream, problem, data);
  }
}

void linear(StreamView stream, Epilogue epilogue, const Operand& a, const Operand& b,
            const Operand& bias, const Operand& aux, const Operand& bias_gradient,
            const Operand& out, bool allow_tf32) {
  const driver::DeviceScope scope(stream.device().index);
  Problem problem = problem_of(stream, a, b, out, allow_tf32);
  const ProductData data{a.data, b.data, out.data, bias.data, aux.data};
  problem.alignment = alignment_of(a.data, b.data, out.data);
  problem.epilogue = static_cast<std::uint8_t>(epilogue);
  const bool fused = epilogue != Epilogue::none && fits_epilogue(problem, data, out.dtype) &&
                     can_multiply(problem);
  if (!fused) problem.epilogue = static_cast<std::uint8_t>(Epilogue::none);
  multiply(stream, problem, data);
  if (!fused) finish(stream, epilogue, bias, aux, out);
  if (bias_gradient.data != nullptr) {
    reduce(stream, ReduceOp::sum, out, bias_gradient, {1, out.shape[0], out.shape[1]});
  }
}

}  // namespace causeway::kernels::cuda
