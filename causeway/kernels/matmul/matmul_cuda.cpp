// Matrix products of strided and batched operands, and the products of linear layers, with
// cuBLASLt. Bound by arithmetic.
#include "causeway/kernels/matmul/matmul.h"

#include "causeway/kernels/activation/activation.h"
#include "causeway/kernels/matmul/product_cuda.h"
#include "causeway/kernels/matmul/matmul_layout.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/pool.h"

#include <array>

namespace causeway::kernels::cuda {

namespace {

// Batch dimensions, innermost first, merged if both operands can step through them as one. The
// first is passed to the library, the others are looped over here.
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
  problem.dtype = static_cast<std::uint8_t>(a.dtype);
  problem.out_dtype = static_cast<std::uint8_t>(out.dtype);
  problem.tf32 = allow_tf32;
  return problem;
}

// The library has only slow kernels for 16-bit matrices whose rows are not all aligned to 16 bytes
// (a hundred microseconds for two columns of gradients): such a matrix is copied to aligned rows.
class AlignedLines {
 public:
  AlignedLines(StreamView stream, const Operand& matrix) : operand_(matrix) {
    const MatrixLayout layout = matrix_layout(matrix);
    constexpr std::int64_t kLine = 8;
    if (size_of(matrix.dtype) != 2 || layout.leading % kLine == 0) return;
    const std::int64_t leading = (layout.leading + kLine - 1) / kLine * kLine;
    const std::int64_t lines = layout.transposed ? layout.columns : layout.rows;
    space_ =
        pool_of(stream.device()).allocate(static_cast<std::size_t>(lines * leading * 2), stream);
    operand_.data = space_.data();
    operand_.strides = layout.transposed ? Strides{1, leading} : Strides{leading, 1};
    copy(stream, matrix, operand_);
  }
  operator const Operand&() const { return operand_; }  // NOLINT: converts to the operand it holds

 private:
  Buffer space_;
  Operand operand_;
};

// Whether an epilogue's operands are supported by the library: contiguous rows, a multiple of 16
// bytes, and of 8 elements in `aux`.
bool fits_epilogue(const Problem& problem, const ProductData& data, DType dtype) {
  const auto width = problem.n * static_cast<std::int64_t>(size_of(dtype));
  const auto bits =
      reinterpret_cast<std::uintptr_t>(data.aux) | reinterpret_cast<std::uintptr_t>(data.bias);
  const bool has_rows = data.aux == nullptr || problem.n % 8 == 0;
  return dtype != DType::f64 && width % 16 == 0 && bits % 16 == 0 && has_rows;
}

// Whether a second pass for the GELU's gradient is at least as fast as the fused product. For
// 16-bit types it is while the product stays in the L2 cache (25.7 us against 27.0 us for 28,800 x
// 96 by 96 x 192 on an H200 at base clock) and for short sums, where the fused product is bound by
// memory itself. For 65,536 x 768 by 768 x 3,072 the fused product takes 545 us, a plain one and
// the pass 420 and 290 us.
bool prefers_second_pass(const Problem& problem, DType dtype) {
  constexpr std::int64_t kCached = std::int64_t{64} << 20;  // bytes
  return size_of(dtype) == 2 && (problem.m * problem.n * 2 < kCached || problem.k < 512);
}

// Applies the epilogue after the product, with separate kernels.
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
    case Epilogue::gelu:
    case Epilogue::bias_gelu:
      add_bias(out);
      copy(stream, out, aux);
      return unary(stream, UnaryOp::gelu_tanh, aux, out);
    case Epilogue::gelu_gradient: return unary_gradient(stream, UnaryOp::gelu_tanh, aux, out, out);
  }
}

// of_product * a b + of_added * added, with the last three given by `blend`.
void multiply_batches(StreamView stream, const Operand& a, const Operand& b, const Operand& out,
                      bool allow_tf32, const ProductData& blend) {
  const driver::DeviceScope scope(stream.device().index);
  const Batches batches = merge_batches(a, b);
  Problem problem = problem_of(stream, a, b, out, allow_tf32);
  problem.batches = batches.size[0];
  problem.stride_a = batches.stride_a[0];
  problem.stride_b = batches.stride_b[0];
  std::int64_t outer = 1;
  for (std::size_t dim = 1; dim < batches.n_dims; ++dim) outer *= batches.size[dim];
  const auto element = static_cast<std::int64_t>(size_of(a.dtype));
  const auto out_element = static_cast<std::int64_t>(size_of(out.dtype));
  for (std::int64_t i = 0; i < outer; ++i) {
    std::int64_t offset_a = 0;
    std::int64_t offset_b = 0;
    std::int64_t rest = i;
    for (std::size_t dim = 1; dim < batches.n_dims; ++dim) {
      offset_a += rest % batches.size[dim] * batches.stride_a[dim];
      offset_b += rest % batches.size[dim] * batches.stride_b[dim];
      rest /= batches.size[dim];
    }
    const std::int64_t offset_out = i * batches.size[0] * problem.m * problem.n * out_element;
    ProductData data = blend;
    data.a = static_cast<const std::byte*>(a.data) + offset_a * element;
    data.b = static_cast<const std::byte*>(b.data) + offset_b * element;
    data.out = static_cast<std::byte*>(out.data) + offset_out;
    if (blend.added != nullptr) {
      data.added = static_cast<const std::byte*>(blend.added) + offset_out;
    }
    problem.alignment = alignment_of({data.a, data.b, data.out, data.added});
    multiply(stream, problem, data);
  }
}

}  // namespace

void matmul(StreamView stream, const Operand& a, const Operand& b, const Operand& out,
            bool allow_tf32) {
  multiply_batches(stream, a, b, out, allow_tf32, {});
}

void matmul_add(StreamView stream, double of_product, const Operand& a, const Operand& b,
                double of_added, const Operand& added, const Operand& out, bool allow_tf32) {
  ProductData blend;
  blend.added = added.data;
  blend.of_product = of_product;
  blend.of_added = of_added;
  multiply_batches(stream, a, b, out, allow_tf32, blend);
}

void linear(StreamView stream, Epilogue epilogue, const Operand& given_a, const Operand& given_b,
            const Operand& bias, const Operand& aux, const Operand& out, bool allow_tf32) {
  const driver::DeviceScope scope(stream.device().index);
  const AlignedLines aligned_a(stream, given_a);
  const AlignedLines aligned_b(stream, given_b);
  const Operand& a = aligned_a;
  const Operand& b = aligned_b;
  Problem problem = problem_of(stream, a, b, out, allow_tf32);
  ProductData data;
  data.a = a.data;
  data.b = b.data;
  data.out = out.data;
  data.bias = bias.data;
  data.aux = aux.data;
  problem.alignment = alignment_of({a.data, b.data, out.data});
  problem.epilogue = static_cast<std::uint8_t>(epilogue);
  const bool slower =
      epilogue == Epilogue::gelu_gradient && prefers_second_pass(problem, out.dtype);
  const bool fused = epilogue != Epilogue::none && !slower &&
                     fits_epilogue(problem, data, out.dtype) && can_multiply(problem);
  if (!fused) problem.epilogue = static_cast<std::uint8_t>(Epilogue::none);
  multiply(stream, problem, data);
  if (!fused) finish(stream, epilogue, bias, aux, out);
}

}  // namespace causeway::kernels::cuda
