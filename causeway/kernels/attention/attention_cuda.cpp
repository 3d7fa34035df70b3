// Selects the attention kernel: among those that support the call, the one measured to be fastest.
// The choice depends on the call and the device only. A gradient may use another path than its
// forward pass: all define log_sum the same way.
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
constexpr std::int64_t kHopperFeatures = 64;
constexpr std::int64_t kFewFeatures = 24;  // which the path for Hopper pads to 32
constexpr std::int64_t kCudnnRows = 512;   // from this length on, cuDNN is tried first

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
  static std::map<int, int> cache;
  const std::lock_guard lock(mutex);
  const auto found = cache.find(device.index);
  if (found != cache.end()) return found->second;
  const DeviceInfo info = describe(device);
  return cache[device.index] = 10 * info.capability_major + info.capability_minor;
}

std::string tensor_cores_unsupported(StreamView stream) {
  const int has = capability(stream.device());
  return has >= 80 ? ""
                   : fmt::format("needs compute capability 8.0, got {}.{}", has / 10, has % 10);
}

// Block indices have 31 bits; a block has at least sixteen rows.
std::string too_many(const AttentionCall& call) {
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max() / 2;
  const std::int64_t sequences = call.q.shape[0] * call.q.shape[1];
  if (rows <= most && sequences <= most / ((rows + 15) / 16)) return "";
  return fmt::format("{} sequences of {} rows exceed the limit of a launch", sequences, rows);
}

// Of the paths that copy rows of at most `most` features in pieces of 16 bytes.
std::string copies_unsupported(const AttentionCall& call, const AttentionGradients* gradients,
                               std::int64_t most) {
  const std::int64_t head_size = call.q.shape[3];
  if (!is_half(call.q.dtype)) return "supports bf16 and f16 only";
  if (head_size > most) {
    return fmt::format("supports head sizes up to {}, got {}", most, head_size);
  }
  if (head_size % 8 != 0)
    return fmt::format("needs a head size that is a multiple of 8, got {}", head_size);
  if (gradients == nullptr ? !rows_are_aligned(call) : !rows_are_aligned(call, *gradients)) {
    return "needs rows aligned to 16 bytes";
  }
  return too_many(call);
}

std::string small_unsupported(StreamView stream, const AttentionCall& call,
                              const AttentionGradients* gradients) {
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  if (rows > kSmallRows) return fmt::format("supports at most {} rows, got {}", kSmallRows, rows);
  std::string why = copies_unsupported(call, gradients, kSmallFeatures);
  return why.empty() ? tensor_cores_unsupported(stream) : why;
}

std::string flash_unsupported(StreamView stream, const AttentionCall& call) {
  const std::int64_t head_size = call.q.shape[3];
  if (head_size > kFeatures) {
    return fmt::format("supports head sizes up to {}, got {}", kFeatures, head_size);
  }
  std::string why = too_many(call);
  if (!why.empty() || !is_half(call.q.dtype)) return why;
  if (head_size % 8 != 0)
    return fmt::format("needs a head size that is a multiple of 8, got {}", head_size);
  return tensor_cores_unsupported(stream);
}

std::string hopper_unsupported(StreamView stream, const AttentionCall& call,
                               const AttentionGradients* gradients) {
  if (const int has = capability(stream.device()); has != 90) {
    return fmt::format("needs compute capability 9.0, got {}.{}", has / 10, has % 10);
  }
  return copies_unsupported(call, gradients, kHopperFeatures);
}

std::string unsupported_reason(AttentionPath path, StreamView stream, const AttentionCall& call,
                               const AttentionGradients* gradients) {
  switch (path) {
    case AttentionPath::small: return small_unsupported(stream, call, gradients);
    case AttentionPath::flash: return flash_unsupported(stream, call);
    case AttentionPath::hopper: return hopper_unsupported(stream, call, gradients);
    default: return cudnn_unsupported(stream, call, gradients);
  }
}

// The paths to try, in order of expected speed.
std::vector<AttentionPath> paths_for(const AttentionCall& call) {
  using enum AttentionPath;
  if (call.how.path != automatic) return {call.how.path};
  const std::int64_t rows = std::max(call.q.shape[2], call.k.shape[2]);
  const bool suits_hopper = rows > kWholeRows && call.q.shape[3] > kFewFeatures;
  std::vector<AttentionPath> order = {rows >= kCudnnRows ? cudnn : small};
  if (suits_hopper) order.push_back(hopper);
  order.push_back(flash);
  if (order.front() == small) order.push_back(cudnn);
  return order;
}

// Returns the first of these paths that supports the call. `gradients` is null in a forward pass.
AttentionPath choose(StreamView stream, const AttentionCall& call,
                     const AttentionGradients* gradients) {
  std::string reasons;
  for (const AttentionPath path : paths_for(call)) {
    const std::string why = unsupported_reason(path, stream, call, gradients);
    if (why.empty()) return path;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(path), why);
  }
  fail(ErrorKind::invalid_argument, "attention",
       fmt::format("no path supports q {} {} with {} keys: {}", to_string(call.q.shape),
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
    case AttentionPath::hopper: return hopper_attention(stream, call);
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
    case AttentionPath::hopper: return hopper_gradient(stream, call, gradients);
    default:
      return is_half(q.dtype) ? flash_attention_gradient(stream, call, gradients)
                              : exact_attention_gradient(stream, call, gradients);
  }
}

}  // namespace causeway::kernels::cuda
