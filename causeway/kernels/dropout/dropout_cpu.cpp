// Dropout on the CPU. Bound by Philox's arithmetic.
#include "causeway/kernels/dropout/dropout.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dropout/dropout_device.h"
#include "causeway/kernels/dispatch.h"

#include <cstring>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kBatch = 64;  // blocks of random words drawn together, to vectorise

template <class T>
void drop_blocks(RandomKey key, const DropoutDraw& draw, const T* in, T* out, std::int64_t first,
                 std::int64_t count) {
  using C = Compute<T>;
  std::uint32_t words[kBatch][kDropoutBlock];
#pragma omp simd
  for (std::int64_t block = 0; block < kBatch; ++block) {
    const Bits128 bits =
        philox(key.seed, key.stream, static_cast<std::uint64_t>(first / kDropoutBlock + block));
    words[block][0] = bits.word[0];
    words[block][1] = bits.word[1];
    words[block][2] = bits.word[2];
    words[block][3] = bits.word[3];
  }
  const std::uint32_t* word = words[0];
  const std::int64_t last = std::min(count - first, kBatch * kDropoutBlock);
#pragma omp simd
  for (std::int64_t i = 0; i < last; ++i) {
    out[first + i] = static_cast<T>(draw.apply(word[i], static_cast<C>(in[first + i])));
  }
}

}  // namespace

void dropout(StreamView, RandomKey key, const Operand& step, double probability, const Operand& in,
             const Operand& out) {
  const std::int64_t count = numel(in.shape);
  if (count == 0) return;
  bool drops_all = false;
  const DropoutDraw draw = make_dropout_draw(probability, drops_all);
  if (drops_all) {
    std::memset(out.data, 0, static_cast<std::size_t>(count) * size_of(out.dtype));
    return;
  }
  if (step.data != nullptr) {
    key.stream = dropout_stream(key.stream, *static_cast<const std::int64_t*>(step.data));
  }
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    constexpr std::int64_t kElements = kBatch * kDropoutBlock;
    parallel_for((count + kElements - 1) / kElements, 32,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t batch = begin; batch < end; ++batch) {
                     drop_blocks(key, draw, from, to, batch * kElements, count);
                   }
                 });
  });
}

}  // namespace causeway::kernels::cpu
