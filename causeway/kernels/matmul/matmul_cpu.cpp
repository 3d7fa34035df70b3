// Matrix products on the CPU: OpenBLAS, or our own blocked product for f32 where it is faster.
// 16-bit types are widened to f32 first. Small batched products run one per thread. Bound by
// arithmetic.
#include "causeway/kernels/matmul/matmul.h"

#include "causeway/core/error.h"
#include "causeway/kernels/matmul/blocked_product_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/kernels/matmul/matmul_layout.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <cblas.h>

namespace causeway::kernels::cpu {

namespace {

// Factors of the product and of the previous `out`.
struct Factors {
  double product = 1;
  double previous = 0;
};

void gemm(const MatrixLayout& a, const float* a_data, const MatrixLayout& b, const float* b_data,
          const Factors& factors, float* out) {
  const bool adds = factors.previous == 1;
  const bool plain = factors.product == 1 && (adds || factors.previous == 0);
  if (plain && multiply_blocks(a, a_data, b, b_data, adds, out)) return;
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(a.rows),
              static_cast<blasint>(b.columns), static_cast<blasint>(a.columns),
              static_cast<float>(factors.product), a_data, static_cast<blasint>(a.leading), b_data,
              static_cast<blasint>(b.leading), static_cast<float>(factors.previous), out,
              static_cast<blasint>(std::max<std::int64_t>(b.columns, 1)));
}

void gemm(const MatrixLayout& a, const double* a_data, const MatrixLayout& b, const double* b_data,
          const Factors& factors, double* out) {
  cblas_dgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
              b.transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(a.rows),
              static_cast<blasint>(b.columns), static_cast<blasint>(a.columns), factors.product,
              a_data, static_cast<blasint>(a.leading), b_data, static_cast<blasint>(b.leading),
              factors.previous, out, static_cast<blasint>(std::max<std::int64_t>(b.columns, 1)));
}

// Widens a matrix to f32, keeping its layout.
template <class T>
std::vector<float> widen(const MatrixLayout& layout, const T* data) {
  const std::int64_t lines = layout.transposed ? layout.columns : layout.rows;
  std::vector<float> wide(static_cast<std::size_t>(lines * layout.leading));
  const std::int64_t length = layout.transposed ? layout.rows : layout.columns;
  parallel_for(lines, std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(length, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t line = begin; line < end; ++line) {
                   for (std::int64_t i = 0; i < length; ++i) {
                     const std::int64_t at = line * layout.leading + i;
                     wide[static_cast<std::size_t>(at)] = data[at];
                   }
                 }
               });
  return wide;
}

template <class T>
void gemm(const MatrixLayout& a, const T* a_data, const MatrixLayout& b, const T* b_data,
          const Factors& factors, float* out) {
  gemm(a, widen(a, a_data).data(), b, widen(b, b_data).data(), factors, out);
}

template <class T>
void gemm(const MatrixLayout& a, const T* a_data, const MatrixLayout& b, const T* b_data,
          const Factors& factors, T* out) {
  std::vector<float> wide_out(static_cast<std::size_t>(a.rows * b.columns));
  if (factors.previous != 0) std::copy_n(out, wide_out.size(), wide_out.begin());
  gemm(a, a_data, b, b_data, factors, wide_out.data());
  std::transform(wide_out.begin(), wide_out.end(), out, [](float value) { return T(value); });
}

// The offset of matrix `batch` of an operand, in elements.
std::int64_t batch_offset(const Operand& operand, std::int64_t batch) {
  std::int64_t offset = 0;
  for (int dim = operand.shape.size() - 3; dim >= 0; --dim) {
    offset += batch % operand.shape[dim] * operand.strides[dim];
    batch /= operand.shape[dim];
  }
  return offset;
}

void multiply(const Operand& a, const Operand& b, const Factors& factors, const Operand& out) {
  const MatrixLayout layout_a = matrix_layout(a);
  const MatrixLayout layout_b = matrix_layout(b);
  for (std::int64_t size :
       {layout_a.rows, layout_a.columns, layout_b.columns, layout_a.leading, layout_b.leading}) {
    if (size > std::numeric_limits<blasint>::max()) {
      fail(ErrorKind::invalid_argument, "matmul",
           "a dimension is above 2^31 - 1, the limit of the BLAS library; split the product");
    }
  }
  const std::int64_t matrix = layout_a.rows * layout_b.columns;
  const std::int64_t batches = matrix == 0 ? 0 : numel(out.shape) / matrix;
  const bool sums_wide = size_of(a.dtype) == 2 && out.dtype == DType::f32;
  const auto run = [&](auto tag, std::int64_t begin, std::int64_t end) {
    using T = typename decltype(tag)::type;
    for (std::int64_t batch = begin; batch < end; ++batch) {
      const T* from_a = static_cast<const T*>(a.data) + batch_offset(a, batch);
      const T* from_b = static_cast<const T*>(b.data) + batch_offset(b, batch);
      if (sums_wide) {
        gemm(layout_a, from_a, layout_b, from_b, factors,
             static_cast<float*>(out.data) + batch * matrix);
      } else {
        gemm(layout_a, from_a, layout_b, from_b, factors,
             static_cast<T*>(out.data) + batch * matrix);
      }
    }
  };
  dispatch_floating(a.dtype, [&](auto tag) {
    // OpenBLAS parallelises one large product itself; many small ones are better distributed here.
    const std::int64_t work = matrix * std::max<std::int64_t>(layout_a.columns, 1);
    // A BLAS library with its own threads (not OpenMP's) is only called from one thread.
    const bool splits = batches >= thread_count() && work <= (std::int64_t{1} << 22) &&
                        openblas_get_parallel() == OPENBLAS_OPENMP;
    if (!splits) return run(tag, 0, batches);
    const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 17) / work);
    parallel_for(batches, grain,
                 [&](std::int64_t begin, std::int64_t end) { run(tag, begin, end); });
  });
}

}  // namespace

void matmul(StreamView, const Operand& a, const Operand& b, const Operand& out, bool) {
  multiply(a, b, {}, out);
}

void matmul_add(StreamView stream, double of_product, const Operand& a, const Operand& b,
                double of_added, const Operand& added, const Operand& out, bool) {
  if (added.data != out.data) copy(stream, added, out);
  multiply(a, b, {of_product, of_added}, out);
}

}  // namespace causeway::kernels::cpu
