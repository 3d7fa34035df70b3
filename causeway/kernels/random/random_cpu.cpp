// Random fills on the CPU. Bound by Philox's arithmetic.
#include "causeway/kernels/random/random.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/random/random_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <type_traits>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kBatch = 16;

// Adjacent blocks of random bits, stored word by word, so that the rounds vectorise.
struct Batch {
  std::uint32_t word0[kBatch];
  std::uint32_t word1[kBatch];
  std::uint32_t word2[kBatch];
  std::uint32_t word3[kBatch];

  CAUSEWAY_INLINE Bits128 get(std::int64_t i) const {
    return {{word0[i], word1[i], word2[i], word3[i]}};
  }
  CAUSEWAY_INLINE void set(std::int64_t i, Bits128 bits) {
    word0[i] = bits.word[0];
    word1[i] = bits.word[1];
    word2[i] = bits.word[2];
    word3[i] = bits.word[3];
  }
};

CAUSEWAY_INLINE inline void draw_batch(RandomKey key, std::int64_t first, Batch& batch) {
  for (std::int64_t i = 0; i < kBatch; ++i) {
    batch.set(i, philox_counter(key.stream, static_cast<std::uint64_t>(first + i)));
  }
  auto key0 = static_cast<std::uint32_t>(key.seed);
  auto key1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (std::int64_t i = 0; i < kBatch; ++i) batch.set(i, philox_round(batch.get(i), key0, key1));
    key0 += kPhiloxStep0;
    key1 += kPhiloxStep1;
  }
}

template <class T, class Value, class Draw>
void fill_blocks(RandomKey key, const Operand& out, const Draw& draw) {
  const std::int64_t count = numel(out.shape);
  auto* to = static_cast<T*>(out.data);
  constexpr std::int64_t kPerBlock = Draw::kPerBlock;
  constexpr std::int64_t kPerBatch = kBatch * kPerBlock;
  parallel_for((count + kPerBatch - 1) / kPerBatch, 2048 / kBatch,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at) {
                   Batch batch;
                   draw_batch(key, at * kBatch, batch);
                   T values[kPerBatch];
                   for (std::int64_t i = 0; i < kBatch; ++i) {
                     Value drawn[kPerBlock];
                     draw(batch.get(i), drawn);
                     for (std::int64_t k = 0; k < kPerBlock; ++k) {
                       values[i * kPerBlock + k] = static_cast<T>(drawn[k]);
                     }
                   }
                   std::copy_n(values, std::min(kPerBatch, count - at * kPerBatch),
                               to + at * kPerBatch);
                 }
               });
}

// f64 is drawn in f64, everything narrower in f32.
template <class WideDraw, class Draw>
void fill_floating(RandomKey key, double first, double second, const Operand& out) {
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, double>) {
      fill_blocks<T, double>(key, out, WideDraw{first, second});
    } else {
      fill_blocks<T, float>(key, out, Draw{static_cast<float>(first), static_cast<float>(second)});
    }
  });
}

}  // namespace

void uniform(StreamView, RandomKey key, double low, double high, const Operand& out) {
  fill_floating<UniformF64, UniformF32>(key, low, high, out);
}

void normal(StreamView, RandomKey key, double mean, double deviation, const Operand& out) {
  fill_floating<NormalF64, NormalF32>(key, mean, deviation, out);
}

void integers(StreamView, RandomKey key, std::int64_t low, std::uint64_t range,
              const Operand& out) {
  dispatch_integer(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_blocks<T, std::int64_t>(key, out, Integers{low, range});
  });
}

}  // namespace causeway::kernels::cpu
