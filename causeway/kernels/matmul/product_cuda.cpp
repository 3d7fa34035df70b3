// Matrix products with cuBLASLt. The plan of a product (layouts and algorithm) is cached by shape.
// The algorithm depends on the problem only, so that a product always uses the same one: a measured
// preference for some large products, else the library's first choice. Bound by arithmetic.
#include "causeway/kernels/matmul/product_cuda.h"

#include "causeway/core/error.h"
#include "causeway/kernels/matmul/cublas_cuda.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/pool.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace causeway::kernels::cuda {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::device, "matmul",
       std::string(call) + " failed: " + cublas().cublasLtGetStatusString(status));
}

struct Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr;  // in column-major order: left is B
  cublasLtMatrixLayout_t right = nullptr;
  cublasLtMatrixLayout_t out = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
  bool exists = false;
};

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDA_R_64F;
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::i8: return CUDA_R_8I;
    case DType::i32: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}

// The type of the factors of the product and of what is added.
cudaDataType_t scale_type(DType dtype) {
  if (dtype == DType::i8) return CUDA_R_32I;
  return dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
}

cublasComputeType_t compute_type(DType dtype, bool tf32) {
  if (dtype == DType::i8) return CUBLAS_COMPUTE_32I;
  if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::f32 && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) check(cublas().cublasLtCreate(&handle), "cublasLtCreate");
  return handle;
}

cublasLtMatrixLayout_t make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                   std::int64_t leading, std::int64_t batches,
                                   std::int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublas().cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), leading),
        "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<std::int32_t>(batches);
  check(cublas().cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                  &count, sizeof(count)),
        "cublasLtMatrixLayoutSetAttribute");
  check(cublas().cublasLtMatrixLayoutSetAttribute(
            layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
        "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

cublasLtEpilogue_t epilogue_of(const Problem& problem) {
  switch (static_cast<Epilogue>(problem.epilogue)) {
    case Epilogue::bias: return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::gelu: return CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::bias_gelu: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    // DGELU_BGRAD would also sum the columns, but takes three times as long.
    case Epilogue::gelu_gradient: return CUBLASLT_EPILOGUE_DGELU;
    default: return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublas().cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

void set_epilogue(cublasLtMatmulDesc_t operation, const Problem& problem) {
  const auto epilogue = static_cast<Epilogue>(problem.epilogue);
  if (epilogue == Epilogue::none) return;
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(problem));
  if (epilogue == Epilogue::bias) return;
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.n);
}

// Identifies an algorithm among the candidates of cuBLASLt.
struct Configuration {
  cublasLtMatmulTile_t tile;
  cublasLtClusterShape_t cluster;
  std::uint32_t option;  // CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, a number without a name
};

bool is_hopper(int device) {
  int major = 0;
  int minor = 0;
  driver::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                "device attributes");
  driver::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                "device attributes");
  return major == 9 && minor == 0;
}

// Candidates that are faster than the first one on an H200, for short sums of products of many
// rows. Measured in bf16 (m x n x k, us of the first candidate and of this one):
//   plain                      65,536 x 3,072 x 768 509, 420     65,536 x 768 x 768 116, 104
//   many columns, b transposed 10,624 x 50,304 x 768 1131, 1040
//   bias                       65,536 x 768 x 768 114, 107
//   bias_gelu                  65,536 x 3,072 x 768 559, 535
//   gelu_gradient              65,536 x 3,072 x 768 564, 545
// For k of 2,304 and more they are about equal; for a bias of 2,304 columns the first is faster.
std::optional<Configuration> preferred(const Problem& problem) {
  constexpr std::int64_t kMany = 16384;
  constexpr std::int64_t kShort = 1024;
  const auto epilogue = static_cast<Epilogue>(problem.epilogue);
  const bool is_dense_16_bit = size_of(static_cast<DType>(problem.dtype)) == 2 &&
                               problem.out_dtype == problem.dtype && problem.transposed_a == 0 &&
                               problem.batches == 1 && problem.n >= 512 && problem.k >= 512 &&
                               problem.k <= kShort;
  if (!is_dense_16_bit || !is_hopper(problem.device)) return std::nullopt;
  const bool has_many_columns = problem.n >= kMany && problem.transposed_b != 0;
  if (epilogue == Epilogue::none && has_many_columns && problem.m >= kMany / 2) {
    return Configuration{CUBLASLT_MATMUL_TILE_176x128, CUBLASLT_CLUSTER_SHAPE_2x1x1, 0};
  }
  if (problem.m < kMany) return std::nullopt;
  switch (epilogue) {
    case Epilogue::none:
      return Configuration{CUBLASLT_MATMUL_TILE_128x160, CUBLASLT_CLUSTER_SHAPE_2x1x1, 1};
    case Epilogue::bias:
      if (problem.n > kShort) return std::nullopt;
      return Configuration{CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_CLUSTER_SHAPE_2x1x1, 1};
    case Epilogue::gelu:
    case Epilogue::bias_gelu:
      return Configuration{CUBLASLT_MATMUL_TILE_96x128, CUBLASLT_CLUSTER_SHAPE_2x1x1, 0};
    case Epilogue::gelu_gradient:
      return Configuration{CUBLASLT_MATMUL_TILE_128x128, CUBLASLT_CLUSTER_SHAPE_2x1x1, 0};
  }
  return std::nullopt;
}

// An attribute of an algorithm, or `missing` if it has none.
template <class T>
T attribute_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t which,
               T missing) {
  T value{};
  std::size_t written = 0;
  const cublasStatus_t status = cublas().cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, which, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS && written == sizeof(value) ? value : missing;
}

bool has(const cublasLtMatmulAlgo_t& algorithm, const Configuration& wanted) {
  const auto tile = attribute_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID,
                                                CUBLASLT_MATMUL_TILE_UNDEFINED);
  const auto cluster = attribute_of<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
                                                   CUBLASLT_CLUSTER_SHAPE_AUTO);
  const auto option =
      attribute_of<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, ~0u);
  const auto splits = attribute_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 0);
  return tile == static_cast<std::uint32_t>(wanted.tile) &&
         cluster == static_cast<std::uint16_t>(wanted.cluster) && option == wanted.option &&
         splits == 1;
}

// The library's candidates for a plan, best first; empty if it has none.
std::vector<cublasLtMatmulHeuristicResult_t> candidates(const Problem& problem, const Plan& plan,
                                                        int count) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublas().cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  cublas().cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof(kWorkspace));
  const auto alignment = static_cast<std::uint32_t>(problem.alignment);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    cublas().cublasLtMatmulPreferenceSetAttribute(preference, attribute, &alignment,
                                                  sizeof(alignment));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  const cublasStatus_t status = cublas().cublasLtMatmulAlgoGetHeuristic(
      handle_of(problem.device), plan.operation, plan.left, plan.right, plan.out, plan.out,
      preference, count, results.data(), &found);
  cublas().cublasLtMatmulPreferenceDestroy(preference);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
  return results;
}

// Chooses by configuration, never by time, so that every run has the same bits.
std::optional<cublasLtMatmulHeuristicResult_t> choose(const Problem& problem, const Plan& plan) {
  // The library's ranking depends on the number of results requested: the first of eight is faster.
  // The preferred ones were found among sixteen.
  const auto ranked = candidates(problem, plan, 8);
  if (ranked.empty()) return std::nullopt;
  if (const std::optional<Configuration> wanted = preferred(problem); wanted.has_value()) {
    for (const auto& candidate : candidates(problem, plan, 16)) {
      if (has(candidate.algo, *wanted)) return candidate;
    }
  }
  return ranked.front();
}

// A row-major matrix is its transpose in column-major order: out' = b' a'. So b is the left
// operand, and a row-major operand here needs no transposition there.
Plan make_plan(const Problem& problem) {
  Plan plan;
  const auto dtype = static_cast<DType>(problem.dtype);
  const cudaDataType_t type = data_type(dtype);
  check(cublas().cublasLtMatmulDescCreate(&plan.operation, compute_type(dtype, problem.tf32 != 0),
                                          scale_type(dtype)),
        "cublasLtMatmulDescCreate");
  const cublasOperation_t op_left = problem.transposed_b != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_right = problem.transposed_a != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, op_left);
  set(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, op_right);
  set_epilogue(plan.operation, problem);
  const auto side = [&](bool transposed, std::int64_t rows, std::int64_t columns,
                        std::int64_t leading, std::int64_t stride) {
    return make_layout(type, transposed ? columns : rows, transposed ? rows : columns, leading,
                       problem.batches, stride);
  };
  const cudaDataType_t out_type = data_type(static_cast<DType>(problem.out_dtype));
  plan.left =
      side(problem.transposed_b != 0, problem.n, problem.k, problem.leading_b, problem.stride_b);
  plan.right =
      side(problem.transposed_a != 0, problem.k, problem.m, problem.leading_a, problem.stride_a);
  plan.out = make_layout(out_type, problem.n, problem.m, problem.n, problem.batches,
                         problem.m * problem.n);

  // Some epilogues are not available for some types; the caller then applies them separately.
  const auto chosen = choose(problem, plan);
  plan.exists = chosen.has_value();
  if (!plan.exists) return plan;
  plan.algorithm = chosen->algo;
  plan.workspace = chosen->workspaceSize;
  return plan;
}

// A factor of a product in the type that the library expects.
class Factor {
 public:
  Factor(double value, DType dtype)
      : type_(scale_type(dtype)),
        f64_(value),
        f32_(static_cast<float>(value)),
        i32_(static_cast<std::int32_t>(value)) {}

  const void* address() const {
    if (type_ == CUDA_R_32I) return &i32_;
    return type_ == CUDA_R_64F ? static_cast<const void*>(&f64_) : &f32_;
  }

 private:
  cudaDataType_t type_;
  double f64_;
  float f32_;
  std::int32_t i32_;
};

// Plans are kept for the life of the process; a training run has a few dozen.
Plan& plan_for(const Problem& problem) {
  static std::mutex mutex;
  static std::map<Problem, Plan> plans;
  const std::lock_guard lock(mutex);
  const auto found = plans.find(problem);
  if (found != plans.end()) return found->second;
  return plans.emplace(problem, make_plan(problem)).first->second;
}

}  // namespace

int alignment_of(std::initializer_list<const void*> addresses) {
  std::uintptr_t bits = 0;
  for (const void* address : addresses) bits |= reinterpret_cast<std::uintptr_t>(address);
  for (int bytes = 256; bytes > 1; bytes /= 2) {
    if (bits % static_cast<std::uintptr_t>(bytes) == 0) return bytes;
  }
  return 1;
}

bool can_multiply(const Problem& problem) { return plan_for(problem).exists; }

void multiply(StreamView stream, const Problem& problem, const ProductData& data) {
  Plan& plan = plan_for(problem);
  if (!plan.exists) {
    fail(ErrorKind::device, "matmul",
         "cuBLASLt has no algorithm for this product; use the cpu device");
  }
  const Buffer workspace = pool_of(stream.device()).allocate(plan.workspace, stream);
  const Factor alpha(data.of_product, static_cast<DType>(problem.dtype));
  const Factor beta(data.of_added, static_cast<DType>(problem.dtype));
  const void* added = data.added != nullptr ? data.added : data.out;
  // The addresses of an epilogue are part of the plan, which threads share.
  static std::mutex mutex;
  std::unique_lock lock(mutex, std::defer_lock);
  const auto epilogue = static_cast<Epilogue>(problem.epilogue);
  if (epilogue != Epilogue::none) {
    lock.lock();
    if (data.bias != nullptr) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, data.bias);
    if (data.aux != nullptr) {
      set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, data.aux);
    }
  }
  check(cublas().cublasLtMatmul(handle_of(problem.device), plan.operation, alpha.address(), data.b,
                                plan.left, data.a, plan.right, beta.address(), added, plan.out,
                                data.out, plan.out, &plan.algorithm, workspace.data(),
                                plan.workspace, stream.handle()),
        "cublasLtMatmul");
}

}  // namespace causeway::kernels::cuda
