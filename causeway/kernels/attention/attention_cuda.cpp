// Which kernel computes an attention: by what each can take, and by what was measured to be fastest
// where several can. The choice depends on the call alone, and a gradient may take another way than
// its forward pass: they agree on what log_sum means.
#include "causeway/kernels/attention/attention.h"

#include "causeway/core/error.h"
#include "causeway/kernels/attention/paths.h"
#include "causeway/kernels/elementwise/elementwise.h"
#include "causeway/runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

namespace causeway::kernels::cuda {

namespace {

constexpr std::int64_t kSmallRows = 64;
constexpr std::int64_t kSmallFeatures = 64;
constexpr std::int64_t kFeatures = 128;
constexpr std::int64_t kCudnnRows = 512;  // from where on cuDNN is asked first

bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

bool is_aligned(const Operand& operand) {
  const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
  if (reinterpret_cast<std::uintptr_t>(operand.data) % 16 != 0) return false;
  for (int dim = 0; dim < 3; ++dim) {
    if (operand.shape[dim] > 1 && operand.strides[dim] * size % 16 != 0) return false;
  }
  return true;
}

// Compute capability times ten.
int capability(Device device) {
  static std::mutex mutex;
  static std::map<int, int> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device.index);
  if (found != known.end()) return found->second;
  const DeviceInfo info = describe(device);
  return known[device.index] = 10 * info.capability_major + info.capability_minor;
}

std::string tensor_cores_decline(StreamView stream) {
  const int has = capability(stream.device());
  return has >= 80
             ? ""
             : fmt::format("needs compute capability 8.0, there is {}.{}", has / 10, has % 10);
}

// Blocks are counted in 31 bits; one has at least sixteen rows.
std::string too_many(const AttentionCall& call) {
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  const std::int64_t sequences = call.q.shape[0] * call.q.shape[1];
  if (rows <= most && sequences <= most / ((rows + 15) / 16)) return "";
  return fmt::format("{} sequences of {} rows are more than a launch takes", sequences, rows);
}

std::string small_declines(StreamView stream, const AttentionCall& call,
                           const AttentionGradients* gradients) {
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  const std::int64_t head_size = call.q.shape[3];
  if (!is_half(call.q.dtype)) return "takes bf16 and f16 only";
  if (rows > kSmallRows) return fmt::format("at most {} rows, there are {}", kSmallRows, rows);
  if (head_size > kSmallFeatures) {
    return fmt::format("a head size of at most {}, it is {}", kSmallFeatures, head_size);
  }
  if (head_size % 8 != 0) return fmt::format("the head size {} is not a multiple of 8", head_size);
  if (gradients == nullptr ? !rows_are_aligned(call) : !rows_are_aligned(call, *gradients)) {
    return "wants rows that begin at multiples of 16 bytes";
  }
  std::string why = too_many(call);
  return why.empty() ? tensor_cores_decline(stream) : why;
}

std::string flash_declines(StreamView stream, const AttentionCall& call) {
  const std::int64_t head_size = call.q.shape[3];
  if (head_size > kFeatures) {
    return fmt::format("a head size of at most {}, it is {}", kFeatures, head_size);
  }
  std::string why = too_many(call);
  if (!why.empty() || !is_half(call.q.dtype)) return why;
  if (head_size % 8 != 0) return fmt::format("the head size {} is not a multiple of 8", head_size);
  return tensor_cores_decline(stream);
}

std::string declines(AttentionPath path, StreamView stream, const AttentionCall& call,
                     const AttentionGradients* gradients) {
  switch (path) {
    case AttentionPath::small: return small_declines(stream, call, gradients);
    case AttentionPath::flash: return flash_declines(stream, call);
    default: return cudnn_declines(stream, call, gradients);
  }
}

// Asks the paths in the order of their promise; the first that takes the call has it.
AttentionPath choose(StreamView stream, const AttentionCall& call,
                     const AttentionGradients* gradients) {
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  const bool is_long = rows >= kCudnnRows;
  std::vector<AttentionPath> order;
  if (call.how.path != AttentionPath::automatic) {
    order = {call.how.path};
  } else if (is_long) {
    order = {AttentionPath::cudnn, AttentionPath::flash};
  } else {
    order = {AttentionPath::small, AttentionPath::flash, AttentionPath::cudnn};
  }
  std::string reasons;
  for (const AttentionPath path : order) {
    const std::string why = declines(path, stream, call, gradients);
    if (why.empty()) return path;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(path), why);
  }
  fail(ErrorKind::invalid_argument, "attention",
       fmt::format("no path takes q {} {} with {} keys: {}", to_string(call.q.shape),
                   to_string(call.q.dtype), call.k.shape[2], reasons));
}

}  // namespace

bool rows_are_aligned(const AttentionCall& call) {
  return is_aligned(call.q) && is_aligned(call.k) && is_aligned(call.v) && is_aligned(call.out);
}

bool rows_are_aligned(const AttentionCall& call, const AttentionGradients& gradients) {
  return rows_are_aligned(call) && is_aligned(gradients.gradient) && is_aligned(gradients.q) &&
         is_aligned(gradients.k) && is_aligned(gradients.v);
}

void attention(StreamView stream, const Attention& how, const Operand& q, const Operand& k,
               const Operand& v, const Operand& context, const Operand& out,
               const Operand& log_sum) {
  const AttentionCall call{how, q, k, v, context, out, log_sum};
  if (numel(out.shape) == 0) return;
  switch (choose(stream, call, nullptr)) {
    case AttentionPath::small: return small_attention(stream, call);
    case AttentionPath::cudnn: return cudnn_attention(stream, call);
    default:
      return is_half(q.dtype) ? flash_attention(stream, call) : exact_attention(stream, call);
  }
}

void attention_gradient(StreamView stream, const Attention& how, const Operand& q, const Operand& k,
                        const Operand& v, const Operand& context, const Operand& out,
                        const Operand& log_sum, const Operand& gradient, const Operand& q_gradient,
                        const Operand& k_gradient, const Operand& v_gradient) {
  const AttentionCall call{how, q, k, v, context, out, log_sum};
  const AttentionGradients gradients{gradient, q_gradient, k_gradient, v_gradient};
  if (numel(q.shape) == 0) {
    if (numel(k.shape) == 0) return;
    fill(stream, 0.0, k_gradient);
    return fill(stream, 0.0, v_gradient);
  }
  switch (choose(stream, call, &gradients)) {
    case AttentionPath::small: return small_attention_gradient(stream, call, gradients);
    case AttentionPath::cudnn: return cudnn_attention_gradient(stream, call, gradients);
    default:
      return is_half(q.dtype) ? flash_attention_gradient(stream, call, gradients)
                              : exact_attention_gradient(stream, call, gradients);
  }
}

}  // namespace causeway::kernels::cuda
