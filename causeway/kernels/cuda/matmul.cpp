// Matrix products by cuBLASLt. A product's plan (layouts and algorithm) is looked up once and kept
// by shape; the algorithm is the library's first choice, so that the same product takes the same
// one every time. Bound by arithmetic.
#include "causeway/kernels/matmul.h"

#include "causeway/core/error.h"
#include "causeway/kernels/matmul_layout.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/pool.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include <cublasLt.h>

namespace causeway::kernels::cuda {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::device, "matmul",
       std::string(call) + " failed: " + cublasLtGetStatusString(status));
}

// What a plan depends on; compared as bytes.
struct Problem {
  std::int64_t m = 0;  // of the row-major product
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t leading_a = 0;
  std::int64_t leading_b = 0;
  std::int64_t batches = 1;
  std::int64_t stride_a = 0;
  std::int64_t stride_b = 0;
  std::int32_t device = 0;
  std::int32_t alignment = 0;  // bytes that divide all three addresses
  std::uint8_t dtype = 0;
  std::uint8_t transposed_a = 0;
  std::uint8_t transposed_b = 0;
  std::uint8_t tf32 = 0;
  std::uint8_t padding[4] = {};

  friend bool operator<(const Problem& a, const Problem& b) {
    return std::memcmp(&a, &b, sizeof(Problem)) < 0;
  }
};

struct Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr;  // as column-major BLAS sees them: left is B
  cublasLtMatrixLayout_t right = nullptr;
  cublasLtMatrixLayout_t out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
};

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(DType dtype, bool tf32) {
  if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::f32 && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) check(cublasLtCreate(&handle), "cublasLtCreate");
  return handle;
}

cublasLtMatrixLayout_t make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                   std::int64_t leading, std::int64_t batches,
                                   std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), leading),
        "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<std::int32_t>(batches);
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                         sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
  check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &stride, sizeof(stride)),
        "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

// A row-major matrix is its transpose in column-major eyes: out' = b' a'. So b stands on the left,
// and an operand that is row-major here needs no transposition there.
Plan make_plan(const Problem& problem) {
  Plan plan;
  const auto dtype = static_cast<DType>(problem.dtype);
  const cudaDataType_t type = data_type(dtype);
  const cudaDataType_t scale = dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
  check(cublasLtMatmulDescCreate(&plan.operation, compute_type(dtype, problem.tf32 != 0), scale),
        "cublasLtMatmulDescCreate");
  const cublasOperation_t op_left = problem.transposed_b != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_right = problem.transposed_a != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_left,
                                       sizeof(op_left)),
        "cublasLtMatmulDescSetAttribute");
  check(cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_right,
                                       sizeof(op_right)),
        "cublasLtMatmulDescSetAttribute");
  const auto side = [&](bool transposed, std::int64_t rows, std::int64_t columns,
                        std::int64_t leading, std::int64_t stride) {
    return make_layout(type, transposed ? columns : rows, transposed ? rows : columns, leading,
                       problem.batches, stride);
  };
  plan.left =
      side(problem.transposed_b != 0, problem.n, problem.k, problem.leading_b, problem.stride_b);
  plan.right =
      side(problem.transposed_a != 0, problem.k, problem.m, problem.leading_a, problem.stride_a);
  plan.out = side(false, problem.n, problem.m, problem.n, problem.m * problem.n);

  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &kWorkspace, sizeof(kWorkspace));
  const auto alignment = static_cast<std::uint32_t>(problem.alignment);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment, sizeof(alignment));
  }
  // The library ranks more carefully when asked for several: its first of eight is the faster one.
  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_of(problem.device), plan.operation, plan.left, plan.right, plan.out, plan.out,
      preference, static_cast<int>(results.size()), results.data(), &found);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) fail(ErrorKind::device, "matmul", "cuBLASLt has no algorithm for this product");
  plan.algorithm = results[0].algo;
  plan.workspace = results[0].workspaceSize;
  return plan;
}

// Plans are kept for the life of the process; a training run has a few dozen.
const Plan& plan_for(const Problem& problem) {
  static std::mutex mutex;
  static std::map<Problem, Plan> plans;
  const std::lock_guard lock(mutex);
  const auto found = plans.find(problem);
  if (found != plans.end()) return found->second;
  return plans.emplace(problem, make_plan(problem)).first->second;
}

void multiply(StreamView stream, const Problem& problem, const void* a, const void* b, void* out) {
  const Plan& plan = plan_for(problem);
  const Buffer workspace = pool_of(stream.device()).allocate(plan.workspace, stream);
  const bool wide = static_cast<DType>(problem.dtype) == DType::f64;
  const float one = 1;
  const float zero = 0;
  const double wide_one = 1;
  const double wide_zero = 0;
  const void* alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  check(cublasLtMatmul(handle_of(problem.device), plan.operation, alpha, b, plan.left, a,
                       plan.right, beta, out, plan.out, out, plan.out, &plan.algorithm,
                       workspace.data(), plan.workspace, stream.handle()),
        "cublasLtMatmul");
}

int alignment_of(const void* a, const void* b, const void* out) {
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(out);
  for (int bytes = 256; bytes > 1; bytes /= 2) {
    if (bits % static_cast<std::uintptr_t>(bytes) == 0) return bytes;
  }
  return 1;
}

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

}  // namespace

void matmul(StreamView stream, const Operand& a, const Operand& b, const Operand& out,
            bool allow_tf32) {
  const driver::DeviceScope scope(stream.device().index);
  const MatrixLayout layout_a = matrix_layout(a);
  const MatrixLayout layout_b = matrix_layout(b);
  const Batches batches = merge_batches(a, b);
  Problem problem;
  problem.m = layout_a.rows;
  problem.n = layout_b.columns;
  problem.k = layout_a.columns;
  problem.leading_a = layout_a.leading;
  problem.leading_b = layout_b.leading;
  problem.transposed_a = layout_a.transposed;
  problem.transposed_b = layout_b.transposed;
  problem.batches = batches.size[0];
  problem.stride_a = batches.stride_a[0];
  problem.stride_b = batches.stride_b[0];
  problem.device = stream.device().index;
  problem.dtype = static_cast<std::uint8_t>(out.dtype);
  problem.tf32 = allow_tf32;
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
    multiply(stream, problem, from_a, from_b, to);
  }
}

}  // namespace causeway::kernels::cuda
