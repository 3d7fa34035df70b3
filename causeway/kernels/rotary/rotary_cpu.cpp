// Rotary position embedding on the CPU. Bound by memory.
#include "causeway/kernels/rotary/rotary.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/rotary/rotary_device.h"

namespace causeway::kernels::cpu {

namespace {

template <class T>
void rotate_head(const T* in, const float* table, float direction, T* out, std::int64_t half) {
  using C = Compute<T>;
  for (std::int64_t i = 0; i < half; ++i) {
    const Pair<C> x{static_cast<C>(in[i]), static_cast<C>(in[i + half])};
    const Pair<C> y = rotate(x, table[2 * i], direction * table[2 * i + 1]);
    out[i] = static_cast<T>(y.first);
    out[i + half] = static_cast<T>(y.second);
  }
}

}  // namespace

void rotary(StreamView, const Rotary& how, const Operand& in, const Operand& table,
            const Operand& out) {
  const std::int64_t length = in.shape[1];
  const std::int64_t n_heads = in.shape[2];
  const std::int64_t size = in.shape[3];
  const auto* angles = static_cast<const float*>(table.data);
  const float direction = how.inverse ? -1.0f : 1.0f;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    const std::int64_t n_tokens = in.shape[0] * length;
    parallel_for(n_tokens,
                 std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, n_heads * size)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t token = begin; token < end; ++token) {
                     const float* row = angles + token % length * size;
                     for (std::int64_t head = 0; head < n_heads; ++head) {
                       const std::int64_t at = (token * n_heads + head) * size;
                       if (head < how.n_rotated) {
                         rotate_head(from + at, row, direction, to + at, size / 2);
                       } else if (from != to) {
                         std::copy_n(from + at, size, to + at);
                       }
                     }
                   }
                 });
  });
}

}  // namespace causeway::kernels::cpu
