// Attention with cuDNN's fused kernels, through its header-only frontend. A plan (the graph with
// cuDNN's first-ranked engine) is built once per shape, layout and options, and kept for the life
// of the process. Bound by the tensor cores; fastest on long sequences.
#include "causeway/kernels/attention/paths.h"

#include "causeway/core/error.h"
#include "causeway/kernels/cudnn/cudnn_handle.h"
#include "causeway/kernels/cudnn/cudnn_library.h"
#include "causeway/kernels/libraries.h"
#include "causeway/runtime/cuda_check.h"
#include "causeway/runtime/pool.h"

#include <fmt/format.h>

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include <array>
#include <compare>
#include <cstdlib>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

// The library that the frontend calls.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace causeway::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
// Deterministic gradients need memory quadratic in the length; beyond this limit another path is
// used.
constexpr std::size_t kMostWorkspace = std::size_t{4} << 30;

using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;

// Tensor ids within a plan.
enum Uid : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kLogSum,
  kGradient,
  kQGradient,
  kKGradient,
  kVGradient
};

// The cache key of a plan.
struct Problem {
  int device = 0;
  DType dtype = DType::bf16;
  bool causal = false;
  bool backward = false;
  bool deterministic = true;
  double scale = 1;
  std::int64_t n_keys = 0;
  std::array<std::int64_t, 4> shape{};                   // of q
  std::array<std::array<std::int64_t, 3>, 9> strides{};  // by Uid - 1

  friend auto operator<=>(const Problem&, const Problem&) = default;
};

struct Plan {
  fe::graph::Graph graph;
  std::size_t workspace = 0;
  std::string unsupported;  // why there is no plan; empty if there is one
};

using Plans = std::map<Problem, std::unique_ptr<Plan>>;

// Kept for the life of the process and never destroyed: at exit the driver may be gone before them.
// Accessed only while holding a CudnnHandle.
Plans& plans() {
  static auto* const all = new Plans;
  return *all;
}

// Building a plan loads code; this mode allows it while another stream of the thread is captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

TensorPointer tensor(fe::graph::Graph& graph, const Problem& problem, Uid uid) {
  const bool keys = uid == kK || uid == kV || uid == kKGradient || uid == kVGradient;
  const auto& s = problem.strides[static_cast<std::size_t>(uid - 1)];
  auto attributes =
      fe::graph::Tensor_attributes()
          .set_uid(uid)
          .set_dim({problem.shape[0], problem.shape[1], keys ? problem.n_keys : problem.shape[2],
                    uid == kLogSum ? 1 : problem.shape[3]})
          .set_stride({s[0], s[1], s[2], 1});
  if (uid == kLogSum) attributes.set_data_type(fe::DataType_t::FLOAT);
  return graph.tensor(attributes);
}

// Marks `result` as output `uid` of the graph.
void output(const TensorPointer& result, const Problem& problem, Uid uid) {
  const bool keys = uid == kKGradient || uid == kVGradient;
  const auto& s = problem.strides[static_cast<std::size_t>(uid - 1)];
  result->set_output(true)
      .set_uid(uid)
      .set_dim({problem.shape[0], problem.shape[1], keys ? problem.n_keys : problem.shape[2],
                uid == kLogSum ? 1 : problem.shape[3]})
      .set_stride({s[0], s[1], s[2], 1});
  if (uid == kLogSum) result->set_data_type(fe::DataType_t::FLOAT);
}

void describe_forward(fe::graph::Graph& graph, const Problem& problem) {
  auto options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(true)
                     .set_attn_scale(static_cast<float>(problem.scale));
  if (problem.causal) options.set_causal_mask(true);
  const auto [out, stats] = graph.sdpa(tensor(graph, problem, kQ), tensor(graph, problem, kK),
                                       tensor(graph, problem, kV), options);
  output(out, problem, kOut);
  output(stats, problem, kLogSum);
}

void describe_backward(fe::graph::Graph& graph, const Problem& problem) {
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_gradient")
                     .set_attn_scale(static_cast<float>(problem.scale))
                     .set_deterministic_algorithm(problem.deterministic);
  if (problem.causal) options.set_causal_mask(true);
  const auto [q, k, v] = graph.sdpa_backward(
      tensor(graph, problem, kQ), tensor(graph, problem, kK), tensor(graph, problem, kV),
      tensor(graph, problem, kOut), tensor(graph, problem, kGradient),
      tensor(graph, problem, kLogSum), options);
  output(q, problem, kQGradient);
  output(k, problem, kKGradient);
  output(v, problem, kVGradient);
}

// Gives the frontend its libraries. It would open the CUDA runtime by name and prefer an older
// major version to ours.
void prepare_front_end() {
  static const bool ready = [] {
    constexpr int kMajor = CUDART_VERSION / 1000;
    constexpr const char* kVariable = "CUDNN_FRONTEND_CUDART_LIB_NAME";
    const SharedLibrary runtime({.name = "CUDA runtime",
                                 .files = {fmt::format("libcudart.so.{}", kMajor)},
                                 .wheels = {fmt::format("cu{}/lib", kMajor), "cuda_runtime/lib"},
                                 .variable = kVariable,
                                 .advice = "install it (pip install nvidia-cuda-runtime)"});
    setenv(kVariable, runtime.path().c_str(), 0);
    fe::cudnn_dlhandle = cudnn().library.handle();
    return true;
  }();
  static_cast<void>(ready);
}

// Builds the graph with cuDNN's first-ranked engine; returns why that is not possible, or an empty
// string.
std::string build(Plan& plan, const Problem& problem, cudnnHandle_t handle) {
  prepare_front_end();
  const RelaxedCapture relaxed;
  plan.graph
      .set_io_data_type(problem.dtype == DType::bf16 ? fe::DataType_t::BFLOAT16
                                                     : fe::DataType_t::HALF)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  problem.backward ? describe_backward(plan.graph, problem) : describe_forward(plan.graph, problem);
  auto status = plan.graph.validate();
  if (status.is_good()) status = plan.graph.build_operation_graph(handle);
  if (status.is_good()) status = plan.graph.create_execution_plans({fe::HeurMode_t::A});
  if (status.is_good()) status = plan.graph.check_support();
  if (status.is_good()) status = plan.graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE);
  std::int64_t bytes = 0;
  if (status.is_good()) status = plan.graph.get_workspace_size(bytes);
  if (status.is_bad()) return status.get_message();
  plan.workspace = static_cast<std::size_t>(bytes);
  if (plan.workspace <= kMostWorkspace) return "";
  return fmt::format("needs a workspace of {} MiB, the limit is {} MiB", plan.workspace >> 20,
                     kMostWorkspace >> 20);
}

// The cached plan; built on first use.
Plan& plan_for(const CudnnHandle& handle, const Problem& problem) {
  std::unique_ptr<Plan>& plan = plans()[problem];
  if (plan != nullptr) return *plan;
  auto built = std::make_unique<Plan>();
  try {
    built->unsupported = build(*built, problem, handle.get());
  } catch (const std::exception& error) {  // the frontend throws in some cases
    built->unsupported = error.what();
  }
  plan = std::move(built);
  return *plan;
}

Problem problem_of(StreamView stream, const AttentionCall& call,
                   const AttentionGradients* gradients) {
  Problem problem;
  problem.device = stream.device().index;
  problem.dtype = call.q.dtype;
  problem.causal = call.how.mask == AttentionMask::causal;
  problem.backward = gradients != nullptr;
  problem.deterministic = gradients == nullptr || call.how.deterministic;
  problem.scale = call.how.scale;
  problem.n_keys = call.k.shape[2];
  for (int dim = 0; dim < 4; ++dim)
    problem.shape[static_cast<std::size_t>(dim)] = call.q.shape[dim];
  const auto put = [&](Uid uid, const Operand& operand) {
    for (int dim = 0; dim < 3; ++dim) {
      problem.strides[static_cast<std::size_t>(uid - 1)][static_cast<std::size_t>(dim)] =
          operand.strides[dim];
    }
  };
  put(kQ, call.q);
  put(kK, call.k);
  put(kV, call.v);
  put(kOut, call.out);
  put(kLogSum, call.log_sum);
  if (gradients == nullptr) return problem;
  put(kGradient, gradients->gradient);
  put(kQGradient, gradients->q);
  put(kKGradient, gradients->k);
  put(kVGradient, gradients->v);
  return problem;
}

void run(StreamView stream, const AttentionCall& call, const AttentionGradients* gradients) {
  const driver::DeviceScope scope(stream.device().index);
  const CudnnHandle handle(stream);
  Plan& plan = plan_for(handle, problem_of(stream, call, gradients));
  if (!plan.unsupported.empty()) fail(ErrorKind::device, "attention", "cuDNN: " + plan.unsupported);
  const Buffer workspace = pool_of(stream.device()).allocate(plan.workspace, stream);
  std::unordered_map<std::int64_t, void*> memory{{kQ, call.q.data},
                                                 {kK, call.k.data},
                                                 {kV, call.v.data},
                                                 {kOut, call.out.data},
                                                 {kLogSum, call.log_sum.data}};
  if (gradients != nullptr) {
    memory[kGradient] = gradients->gradient.data;
    memory[kQGradient] = gradients->q.data;
    memory[kKGradient] = gradients->k.data;
    memory[kVGradient] = gradients->v.data;
  }
  auto status = plan.graph.execute(handle.get(), memory, workspace.data());
  if (status.is_bad()) fail(ErrorKind::device, "attention", "cuDNN: " + status.get_message());
}

}  // namespace

std::string cudnn_unsupported(StreamView stream, const AttentionCall& call,
                              const AttentionGradients* gradients) {
  if (call.q.dtype != DType::bf16 && call.q.dtype != DType::f16)
    return "supports bf16 and f16 only";
  if (call.context.data != nullptr) return "does not support context";
  if (call.log_sum.data == nullptr) return "needs log_sum";
  if (call.how.mask == AttentionMask::causal && call.q.shape[2] != call.k.shape[2]) {
    return "supports a causal mask only for equal numbers of keys and queries";
  }
  const bool aligned =
      gradients == nullptr ? rows_are_aligned(call) : rows_are_aligned(call, *gradients);
  if (!aligned) return "needs rows aligned to 16 bytes";
  static const std::string absence = cudnn_status().absence;
  if (!absence.empty()) return absence;
  const driver::DeviceScope scope(stream.device().index);
  const CudnnHandle handle(stream);
  return plan_for(handle, problem_of(stream, call, gradients)).unsupported;
}

void cudnn_attention(StreamView stream, const AttentionCall& call) { run(stream, call, nullptr); }

void cudnn_attention_gradient(StreamView stream, const AttentionCall& call,
                              const AttentionGradients& gradients) {
  run(stream, call, &gradients);
}

}  // namespace causeway::kernels::cuda
