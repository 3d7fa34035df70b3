// Random fills on the CPU. Bound by the arithmetic of Philox.
#include "causeway/kernels/random.h"

#include "causeway/kernels/device/random_fill.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

#include <algorithm>

namespace causeway::kernels::cpu {

namespace {

template <class T, class Value, class Draw>
void fill_blocks(RandomKey key, const Operand& out, const Draw& draw) {
  const std::int64_t count = numel(out.shape);
  auto* to = static_cast<T*>(out.data);
  constexpr std::int64_t kPerBlock = Draw::kPerBlock;
  parallel_for((count + kPerBlock - 1) / kPerBlock, 2048,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t block = begin; block < end; ++block) {
                   Value values[kPerBlock];
                   draw(philox(key.seed, key.stream, static_cast<std::uint64_t>(block)), values);
                   const std::int64_t last = std::min(kPerBlock, count - block * kPerBlock);
                   for (std::int64_t i = 0; i < last; ++i)
                     to[block * kPerBlock + i] = static_cast<T>(values[i]);
                 }
               });
}

}  // namespace

void uniform(StreamView, RandomKey key, double low, double high, const Operand& out) {
  if (out.dtype == DType::f64) {
    return fill_blocks<double, double>(key, out, UniformF64{low, high});
  }
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_blocks<T, float>(key, out, UniformF32{static_cast<float>(low), static_cast<float>(high)});
  });
}

void normal(StreamView, RandomKey key, double mean, double deviation, const Operand& out) {
  if (out.dtype == DType::f64) {
    return fill_blocks<double, double>(key, out, NormalF64{mean, deviation});
  }
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_blocks<T, float>(key, out,
                          NormalF32{static_cast<float>(mean), static_cast<float>(deviation)});
  });
}

void integers(StreamView, RandomKey key, std::int64_t low, std::uint64_t range,
              const Operand& out) {
  dispatch_integer(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_blocks<T, std::int64_t>(key, out, Integers{low, range});
  });
}

}  // namespace causeway::kernels::cpu
