// Rotary position embedding. Bytes: the input once, the output once; the table of cosines and sines
// stays in cache. Bound by memory.
#include "causeway/kernels/rotary/rotary.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rotary/rotary_device.h"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

namespace {

struct RotaryShape {
  std::int64_t n_heads_total;  // heads of all tokens
  std::int64_t length;
  int n_heads;
  int n_rotated;
  int half;
};

// Each thread rotates or copies kVec pairs of one head.
template <class T, int kVec>
__global__ void __launch_bounds__(kThreads)
    rotary_kernel(RotaryShape shape, const T* in, const float* table, float direction, T* out) {
  using C = Compute<T>;
  const int pieces = shape.half / kVec;
  const std::int64_t piece = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t head_of_all = piece / pieces;
  if (head_of_all >= shape.n_heads_total) return;
  const int pair = static_cast<int>(piece - head_of_all * pieces) * kVec;
  const std::int64_t token = head_of_all / shape.n_heads;
  const int head = static_cast<int>(head_of_all - token * shape.n_heads);
  const std::int64_t at = head_of_all * 2 * shape.half + pair;
  auto first = load_vector<kVec>(in + at);
  auto second = load_vector<kVec>(in + at + shape.half);
  if (head < shape.n_rotated) {
    const float* angle = table + (token % shape.length * shape.half + pair) * 2;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const Pair<C> x{static_cast<C>(first.value[i]), static_cast<C>(second.value[i])};
      const Pair<C> y = rotate(x, angle[2 * i], direction * angle[2 * i + 1]);
      first.value[i] = static_cast<T>(y.first);
      second.value[i] = static_cast<T>(y.second);
    }
  }
  store_vector(out + at, first);
  store_vector(out + at + shape.half, second);
}

}  // namespace

void rotary(StreamView stream, const Rotary& how, const Operand& in, const Operand& table,
            const Operand& out) {
  RotaryShape shape{};
  shape.length = in.shape[1];
  shape.n_heads = static_cast<int>(in.shape[2]);
  shape.n_heads_total = in.shape[0] * in.shape[1] * in.shape[2];
  shape.n_rotated = static_cast<int>(how.n_rotated);
  shape.half = static_cast<int>(in.shape[3] / 2);
  if (shape.n_heads_total == 0 || shape.half == 0) return;
  const float direction = how.inverse ? -1.0f : 1.0f;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kVec = vector_width<T>();
    const auto* from = static_cast<const T*>(in.data);
    const auto* angles = static_cast<const float*>(table.data);
    auto* to = static_cast<T*>(out.data);
    const auto run = [&](auto kernel, int vec) {
      const std::int64_t n_pieces = shape.n_heads_total * (shape.half / vec);
      const auto blocks = static_cast<unsigned>((n_pieces + kThreads - 1) / kThreads);
      launch({"rotary", stream, dim3(blocks), dim3(kThreads)}, kernel, shape, from, angles,
             direction, to);
    };
    if (rows_align(shape.half, kVec, sizeof(T), from, to)) {
      run(rotary_kernel<T, kVec>, kVec);
    } else {
      run(rotary_kernel<T, 1>, 1);
    }
  });
}

}  // namespace causeway::kernels::cuda
