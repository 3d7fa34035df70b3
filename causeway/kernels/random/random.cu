// Random fills. Bytes: the output once; bound by arithmetic (Philox, and the transcendental
// functions of normal numbers): uniform reaches 54% and normal 30% of an H200's bandwidth. Compiled
// without contraction, so that the bits are equal to the CPU's.
#include "causeway/kernels/random/random.h"

#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/random/random_device.h"
#include "causeway/kernels/dispatch.h"

#include <type_traits>

namespace causeway::kernels::cuda {

namespace {

// Each thread converts one block of random bits to kPerBlock adjacent elements.
template <class T, class Value, class Draw>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(RandomKey key, Draw draw, T* out, std::int64_t count) {
  constexpr int kPerBlock = Draw::kPerBlock;
  const std::int64_t block = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t first = block * kPerBlock;
  if (first >= count) return;
  Value values[kPerBlock];
  draw(philox(key.seed, key.stream, static_cast<std::uint64_t>(block)), values);
  if (first + kPerBlock <= count) {
    Vector<T, kPerBlock> packed;
#pragma unroll
    for (int i = 0; i < kPerBlock; ++i) packed.value[i] = static_cast<T>(values[i]);
    store_vector(out + first, packed);
  } else {
    for (int i = 0; first + i < count; ++i) out[first + i] = static_cast<T>(values[i]);
  }
}

template <class T, class Value, class Draw>
void fill_blocks(const char* name, StreamView stream, RandomKey key, const Draw& draw,
                 const Operand& out) {
  const std::int64_t count = numel(out.shape);
  const std::int64_t per_grid_block = std::int64_t{kThreads} * Draw::kPerBlock;
  launch({name, stream, dim3(static_cast<unsigned>((count + per_grid_block - 1) / per_grid_block)),
          dim3(kThreads)},
         fill_kernel<T, Value, Draw>, key, draw, static_cast<T*>(out.data), count);
}

// f64 is drawn in f64, everything narrower in f32.
template <class WideDraw, class Draw>
void fill_floating(const char* name, StreamView stream, RandomKey key, double first, double second,
                   const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) {
      fill_blocks<T, double>(name, stream, key, WideDraw{first, second}, out);
    } else {
      fill_blocks<T, float>(name, stream, key,
                            Draw{static_cast<float>(first), static_cast<float>(second)}, out);
    }
  });
}

}  // namespace

void uniform(StreamView stream, RandomKey key, double low, double high, const Operand& out) {
  fill_floating<UniformF64, UniformF32>("uniform", stream, key, low, high, out);
}

void normal(StreamView stream, RandomKey key, double mean, double deviation, const Operand& out) {
  fill_floating<NormalF64, NormalF32>("normal", stream, key, mean, deviation, out);
}

void integers(StreamView stream, RandomKey key, std::int64_t low, std::uint64_t range,
              const Operand& out) {
  dispatch_integer(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_blocks<T, std::int64_t>("integers", stream, key, Integers{low, range}, out);
  });
}

}  // namespace causeway::kernels::cuda
