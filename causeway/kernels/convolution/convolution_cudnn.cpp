// Convolution with cuDNN. The plan of a call (descriptors and algorithm) is cached by shape. The
// algorithm is the first deterministic one in cuDNN's ranking. Exception: for large f32
// convolutions without tensor cores, tiled FFT takes two thirds of that time and is more accurate.
// Bound by arithmetic.
#include "causeway/kernels/convolution/convolution.h"

#include "causeway/core/error.h"
#include "causeway/kernels/cudnn/cudnn_handle.h"
#include "causeway/kernels/cudnn/cudnn_library.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

namespace causeway::kernels::cuda {

namespace {

enum class Direction : std::uint8_t { forward, input_gradient, weight_gradient };

// The cache key of a plan; compared as bytes.
struct Problem {
  std::array<std::int64_t, 4> in{};
  std::array<std::int64_t, 4> weight{};
  std::array<std::int64_t, 4> out{};
  std::array<std::int64_t, 2> stride{};
  std::array<std::int64_t, 2> padding{};
  std::array<std::int64_t, 2> dilation{};
  std::int64_t groups = 1;
  std::int32_t device = 0;
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  std::uint8_t tf32 = 0;
  std::uint8_t channels_last = 0;

  friend bool operator<(const Problem& a, const Problem& b) {
    return std::memcmp(&a, &b, sizeof(Problem)) < 0;
  }
};

struct Plan {
  cudnnTensorDescriptor_t in = nullptr;
  cudnnTensorDescriptor_t out = nullptr;
  cudnnFilterDescriptor_t weight = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  int algorithm = 0;
  std::size_t workspace = 0;
};

constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return CUDNN_DATA_DOUBLE;
    case DType::f16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

cudnnTensorFormat_t format_of(const Problem& problem) {
  return problem.channels_last != 0 ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

void set_tensor(cudnnTensorDescriptor_t& descriptor, const Problem& problem,
                const std::array<std::int64_t, 4>& shape) {
  check_cudnn(cudnn().cudnnCreateTensorDescriptor(&descriptor), "cudnnCreateTensorDescriptor");
  check_cudnn(
      cudnn().cudnnSetTensor4dDescriptor(descriptor, format_of(problem), data_type(problem.dtype),
                                         static_cast<int>(shape[0]), static_cast<int>(shape[1]),
                                         static_cast<int>(shape[2]), static_cast<int>(shape[3])),
      "cudnnSetTensor4dDescriptor");
}

bool is_plain_f32(const Problem& problem) {
  return problem.dtype == DType::f32 && problem.tf32 == 0;
}

// Whether tiled FFT is worthwhile: it needs enough channels and pixels.
bool suits_fourier(const Problem& problem) {
  const auto& [n, channels, height, width] = problem.in;
  const bool dense = problem.stride == std::array<std::int64_t, 2>{1, 1} &&
                     problem.dilation == std::array<std::int64_t, 2>{1, 1} && problem.groups == 1;
  return is_plain_f32(problem) && dense && problem.weight[2] >= 3 && problem.weight[3] >= 3 &&
         channels >= 64 && problem.weight[0] >= 64 && height >= 64 && width >= 64 && n >= 8;
}

// Takes the first algorithm that is deterministic, available and within the workspace limit;
// `preferred` comes first.
template <class Result, std::size_t kCount>
void choose(Plan& plan, std::array<Result, kCount>& results, int found, int preferred) {
  const auto end = results.begin() + found;
  std::stable_partition(results.begin(), end,
                        [&](const Result& result) { return result.algo == preferred; });
  for (auto result = results.begin(); result != end; ++result) {
    if (result->status != CUDNN_STATUS_SUCCESS || result->memory > kMostWorkspace) continue;
    if (result->determinism != CUDNN_DETERMINISTIC) continue;
    plan.algorithm = static_cast<int>(result->algo);
    plan.workspace = result->memory;
    check_cudnn(cudnn().cudnnSetConvolutionMathType(plan.convolution, result->mathType),
                "cudnnSetConvolutionMathType");
    return;
  }
  fail(ErrorKind::device, "conv2d",
       "cuDNN has no deterministic algorithm for these shapes; use the cpu device");
}

void choose_algorithm(cudnnHandle_t handle, const Problem& problem, Plan& plan) {
  if (problem.channels_last != 0) {
    // cuDNN's tensor-core kernel, which supports all such shapes.
    plan.algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    return check_cudnn(cudnn().cudnnGetConvolutionForwardWorkspaceSize(
                           handle, plan.in, plan.weight, plan.convolution, plan.out,
                           static_cast<cudnnConvolutionFwdAlgo_t>(plan.algorithm), &plan.workspace),
                       "cudnnGetConvolutionForwardWorkspaceSize");
  }
  constexpr int kNone = -1;
  const bool fourier = suits_fourier(problem);
  int found = 0;
  switch (problem.direction) {
    case Direction::forward: {
      std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> results{};
      check_cudnn(cudnn().cudnnGetConvolutionForwardAlgorithm_v7(
                      handle, plan.in, plan.weight, plan.convolution, plan.out,
                      static_cast<int>(results.size()), &found, results.data()),
                  "cudnnGetConvolutionForwardAlgorithm_v7");
      return choose(plan, results, found, fourier ? CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING : kNone);
    }
    case Direction::input_gradient: {
      std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT>
          results{};
      check_cudnn(cudnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(
                      handle, plan.weight, plan.out, plan.convolution, plan.in,
                      static_cast<int>(results.size()), &found, results.data()),
                  "cudnnGetConvolutionBackwardDataAlgorithm_v7");
      return choose(plan, results, found,
                    fourier ? CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING : kNone);
    }
    case Direction::weight_gradient: {
      std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT>
          results{};
      check_cudnn(cudnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                      handle, plan.in, plan.out, plan.convolution, plan.weight,
                      static_cast<int>(results.size()), &found, results.data()),
                  "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
      return choose(plan, results, found, kNone);
    }
  }
}

Plan make_plan(cudnnHandle_t handle, const Problem& problem) {
  Plan plan;
  set_tensor(plan.in, problem, problem.in);
  set_tensor(plan.out, problem, problem.out);
  const auto size = [](std::int64_t value) { return static_cast<int>(value); };
  check_cudnn(cudnn().cudnnCreateFilterDescriptor(&plan.weight), "cudnnCreateFilterDescriptor");
  check_cudnn(
      cudnn().cudnnSetFilter4dDescriptor(plan.weight, data_type(problem.dtype), format_of(problem),
                                         size(problem.weight[0]), size(problem.weight[1]),
                                         size(problem.weight[2]), size(problem.weight[3])),
      "cudnnSetFilter4dDescriptor");
  check_cudnn(cudnn().cudnnCreateConvolutionDescriptor(&plan.convolution),
              "cudnnCreateConvolutionDescriptor");
  const cudnnDataType_t sums = problem.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  check_cudnn(cudnn().cudnnSetConvolution2dDescriptor(
                  plan.convolution, size(problem.padding[0]), size(problem.padding[1]),
                  size(problem.stride[0]), size(problem.stride[1]), size(problem.dilation[0]),
                  size(problem.dilation[1]), CUDNN_CROSS_CORRELATION, sums),
              "cudnnSetConvolution2dDescriptor");
  check_cudnn(cudnn().cudnnSetConvolutionGroupCount(plan.convolution, size(problem.groups)),
              "cudnnSetConvolutionGroupCount");
  check_cudnn(cudnn().cudnnSetConvolutionMathType(
                  plan.convolution, is_plain_f32(problem) ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
              "cudnnSetConvolutionMathType");
  choose_algorithm(handle, problem, plan);
  return plan;
}

// Plans are kept for the life of the process.
const Plan& plan_for(cudnnHandle_t handle, const Problem& problem) {
  static std::mutex mutex;
  static std::map<Problem, Plan> plans;
  const std::lock_guard lock(mutex);
  const auto found = plans.find(problem);
  if (found != plans.end()) return found->second;
  return plans.emplace(problem, make_plan(handle, problem)).first->second;
}

std::array<std::int64_t, 4> sizes_of(const Operand& operand) {
  return {operand.shape[0], operand.shape[1], operand.shape[2], operand.shape[3]};
}

// Memory for images or filters with channels last; the operand keeps its shape.
struct ChannelsLast {
  Buffer memory;
  Operand operand;

  ChannelsLast(StreamView stream, const Operand& from) : operand(from) {
    const Shape& s = from.shape;
    memory = pool_of(stream.device())
                 .allocate(static_cast<std::size_t>(numel(s)) * size_of(from.dtype), stream);
    operand.data = memory.data();
    operand.strides = {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
  }
};

// Runs call(handle, plan, one, zero, workspace) for a problem.
template <class Call>
void run(StreamView stream, const Convolution& how, Direction direction, bool channels_last,
         const Operand& in, const Operand& weight, const Operand& out, const Call& call) {
  const driver::DeviceScope scope(stream.device().index);
  Problem problem;
  problem.in = sizes_of(in);
  problem.weight = sizes_of(weight);
  problem.out = sizes_of(out);
  problem.stride = how.stride;
  problem.padding = how.padding;
  problem.dilation = how.dilation;
  problem.groups = how.groups;
  problem.device = stream.device().index;
  problem.dtype = in.dtype;
  problem.direction = direction;
  problem.tf32 = how.allow_tf32 ? 1 : 0;
  problem.channels_last = channels_last ? 1 : 0;
  const CudnnHandle handle(stream);
  const Plan& plan = plan_for(handle.get(), problem);
  const Buffer workspace = pool_of(stream.device()).allocate(plan.workspace, stream);
  const float one = 1;
  const float zero = 0;
  const double wide_one = 1;
  const double wide_zero = 0;
  const bool wide = in.dtype == DType::f64;
  call(handle.get(), plan, wide ? static_cast<const void*>(&wide_one) : &one,
       wide ? static_cast<const void*>(&wide_zero) : &zero, workspace.data());
}

void forward(StreamView stream, const Convolution& how, bool channels_last, const Operand& in,
             const Operand& weight, const Operand& out) {
  run(stream, how, Direction::forward, channels_last, in, weight, out,
      [&](cudnnHandle_t handle, const Plan& plan, const void* one, const void* zero,
          void* workspace) {
        check_cudnn(cudnn().cudnnConvolutionForward(
                        handle, one, plan.in, in.data, plan.weight, weight.data, plan.convolution,
                        static_cast<cudnnConvolutionFwdAlgo_t>(plan.algorithm), workspace,
                        plan.workspace, zero, plan.out, out.data),
                    "cudnnConvolutionForward");
      });
}

}  // namespace

void convolution(StreamView stream, const Convolution& how, const Operand& in,
                 const Operand& weight, const Operand& out) {
  const bool on_tensor_cores = in.dtype == DType::f16 || in.dtype == DType::bf16 ||
                               (in.dtype == DType::f32 && how.allow_tf32);
  // Transposing to channels last needs channels in multiples of 8 and pays off from 32 on.
  const bool channels_last = on_tensor_cores && how.groups == 1 && in.shape[1] % 8 == 0 &&
                             out.shape[1] % 8 == 0 && in.shape[1] >= 32;
  if (!channels_last) return forward(stream, how, false, in, weight, out);
  const ChannelsLast last_in(stream, in);
  const ChannelsLast last_weight(stream, weight);
  const ChannelsLast last_out(stream, out);
  copy(stream, in, last_in.operand);
  copy(stream, weight, last_weight.operand);
  forward(stream, how, true, last_in.operand, last_weight.operand, last_out.operand);
  copy(stream, last_out.operand, out);
}

void convolution_input_gradient(StreamView stream, const Convolution& how, const Operand& gradient,
                                const Operand& weight, const Operand& in_gradient) {
  run(stream, how, Direction::input_gradient, false, in_gradient, weight, gradient,
      [&](cudnnHandle_t handle, const Plan& plan, const void* one, const void* zero,
          void* workspace) {
        check_cudnn(
            cudnn().cudnnConvolutionBackwardData(
                handle, one, plan.weight, weight.data, plan.out, gradient.data, plan.convolution,
                static_cast<cudnnConvolutionBwdDataAlgo_t>(plan.algorithm), workspace,
                plan.workspace, zero, plan.in, in_gradient.data),
            "cudnnConvolutionBackwardData");
      });
}

void convolution_weight_gradient(StreamView stream, const Convolution& how, const Operand& in,
                                 const Operand& gradient, const Operand& weight_gradient) {
  run(stream, how, Direction::weight_gradient, false, in, weight_gradient, gradient,
      [&](cudnnHandle_t handle, const Plan& plan, const void* one, const void* zero,
          void* workspace) {
        check_cudnn(cudnn().cudnnConvolutionBackwardFilter(
                        handle, one, plan.in, in.data, plan.out, gradient.data, plan.convolution,
                        static_cast<cudnnConvolutionBwdFilterAlgo_t>(plan.algorithm), workspace,
                        plan.workspace, zero, plan.weight, weight_gradient.data),
                    "cudnnConvolutionBackwardFilter");
      });
}

}  // namespace causeway::kernels::cuda
