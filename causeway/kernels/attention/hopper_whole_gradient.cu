// The gradients of sequences of up to a few hundred rows on Hopper: checks, tensor maps and launch
// of the kernel in hopper_whole.cuh.
#include "causeway/kernels/attention/hopper_whole.cuh"
#include "causeway/runtime/cuda_check.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

namespace causeway::kernels::cuda {

namespace {

constexpr std::int64_t kMostRows = 320;
// Fewer sequences leave multiprocessors idle that the kernels of hopper_gradient.cu would use.
constexpr std::int64_t kFewestSequences = 128;

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

EncodeTiled encode_tiled() {
  static const EncodeTiled found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    driver::check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                   cudaEnableDefault, &result),
                  "cuTensorMapEncodeTiled");
    return reinterpret_cast<EncodeTiled>(function);
  }();
  return found;
}

int count_multiprocessors(int device) {
  static std::mutex mutex;
  static std::map<int, int> cache;
  const std::lock_guard lock(mutex);
  int& count = cache[device];
  if (count == 0) {
    driver::check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
                  "attention_gradient");
  }
  return count;
}

// A (batch, heads, rows, features) operand in boxes of 64 rows of `features` features, swizzled as
// wgmma reads them; missing features and rows are zeros. Empty if the layout is not supported.
std::optional<CUtensorMap> boxes_of(const Operand& operand, int features) {
  CUtensorMap map;
  cuuint64_t sizes[4];
  cuuint64_t strides[3];  // bytes
  for (int i = 0; i < 4; ++i) sizes[i] = static_cast<cuuint64_t>(operand.shape[3 - i]);
  for (int i = 0; i < 3; ++i) {
    const int dim = 2 - i;
    const bool moves = operand.shape[dim] > 1;
    if (moves && operand.strides[dim] <= 0) return std::nullopt;
    strides[i] = moves ? static_cast<cuuint64_t>(operand.strides[dim] * 2) : 16;
  }
  const cuuint32_t box[] = {static_cast<cuuint32_t>(features), kGroupRows, 1, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const auto type = operand.dtype == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto swizzle = features == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  const CUresult result = encode_tiled()(
      &map, type, 4, operand.data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  return map;
}

std::optional<WholeTensors> whole_tensors(const AttentionCall& call,
                                          const AttentionGradients& gradients, int features) {
  const auto q = boxes_of(call.q, features);
  const auto k = boxes_of(call.k, features);
  const auto v = boxes_of(call.v, features);
  const auto out = boxes_of(call.out, features);
  const auto gradient = boxes_of(gradients.gradient, features);
  if (!q || !k || !v || !out || !gradient) return std::nullopt;
  return WholeTensors{*q, *k, *v, *out, *gradient};
}

template <class T, class Plan>
bool run_whole(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  const auto tensors = whole_tensors(call, gradients, Plan::kHead);
  if (!tensors) return false;
  const AttentionShape shape = attention_shape(call.how, call.q, call.k, call.context, true);
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(shape.n_sequences, count_multiprocessors(stream.device().index)));
  // The sums over the keys of earlier passes.
  Buffer partials;
  if (shape.n_keys > Plan::kPass * kGroupRows) {
    const int n_tiles = (shape.n_queries + kGroupRows - 1) / kGroupRows;
    partials = pool_of(stream.device())
                   .allocate(sizeof(float) * blocks * n_tiles * kGroupRows * Plan::kHead, stream);
  }
  launch({"attention_gradient", stream, dim3(blocks), dim3(Plan::kThreads), Plan::kBytes},
         hopper_whole_gradient_kernel<T, Plan>, *tensors, shape, gradient_views<T>(call, gradients),
         reinterpret_cast<float4*>(partials.data()));
  return true;
}

template <class T>
bool run(StreamView stream, const AttentionCall& call, const AttentionGradients& gradients) {
  if (call.q.shape[3] <= 32) return run_whole<T, HopperWholePlan<32>>(stream, call, gradients);
  return run_whole<T, HopperWholePlan<64>>(stream, call, gradients);
}

}  // namespace

bool hopper_whole_gradient(StreamView stream, const AttentionCall& call,
                           const AttentionGradients& gradients) {
  const std::int64_t n_queries = call.q.shape[2];
  const std::int64_t n_keys = call.k.shape[2];
  const bool fits = call.how.mask == AttentionMask::full && n_keys > 0 && n_queries > kWholeRows &&
                    std::max(n_queries, n_keys) <= kMostRows &&
                    call.q.shape[0] * call.q.shape[1] >= kFewestSequences;
  if (!fits) return false;
  if (call.q.dtype == DType::bf16) return run<bf16>(stream, call, gradients);
  return run<f16>(stream, call, gradients);
}

}  // namespace causeway::kernels::cuda
