// Draws tokens on the CPU.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/random/philox.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

// The smallest key that top-k and top-p keep.
std::uint32_t least_key(const SampleTokens& how, const std::vector<std::uint32_t>& keys,
                        const std::vector<std::uint64_t>& masses) {
  const auto n = static_cast<std::int64_t>(keys.size());
  const bool by_count = how.top_k > 0 && how.top_k < n;
  if (!by_count && how.top_p >= 1) return 0;
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
  std::uint32_t least = by_count ? keys[order[static_cast<std::size_t>(how.top_k - 1)]] : 0;
  if (how.top_p >= 1) return least;
  std::uint64_t total = 0;
  for (const std::size_t i : order) total += keys[i] >= least ? masses[i] : 0;
  const auto wanted = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(how.top_p) * static_cast<double>(total)));
  std::uint64_t sum = 0;
  for (const std::size_t i : order) {
    sum += masses[i];
    if (sum >= wanted) return std::max(least, keys[i]);
  }
  return least;
}

std::int64_t draw(const SampleTokens& how, const std::vector<float>& logits, std::int64_t sequence,
                  std::int64_t position) {
  const auto n = static_cast<std::size_t>(how.n_classes);
  std::size_t best = 0;
  std::vector<std::uint32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = ordered_key(logits[i]);
    if (keys[i] > keys[best]) best = i;
  }
  if (!(how.temperature > 0)) return static_cast<std::int64_t>(best);
  std::vector<std::uint64_t> masses(n);
  for (std::size_t i = 0; i < n; ++i) {
    masses[i] = mass_of(logits[i], logits[best], 1.0f / how.temperature);
  }
  const std::uint32_t least = least_key(how, keys, masses);
  const auto least_mass = static_cast<std::uint64_t>(how.min_p * kMassOfLargest);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (keys[i] < least || masses[i] < least_mass) masses[i] = 0;
    total += masses[i];
  }
  const Bits128 bits =
      philox(how.seed, static_cast<std::uint64_t>(sequence), static_cast<std::uint64_t>(position));
  std::uint64_t rest = scaled_draw((std::uint64_t{bits.word[1]} << 32) | bits.word[0], total);
  for (std::size_t i = 0; i < n; ++i) {
    if (rest < masses[i]) return static_cast<std::int64_t>(i);
    rest -= masses[i];
  }
  return static_cast<std::int64_t>(best);
}

}  // namespace

void sample_tokens(StreamView, const SampleTokens& how, const Operand& logits,
                   const Operand& tokens, const Operand& lengths) {
  dispatch_floating(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(logits.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        std::int64_t& length = static_cast<std::int64_t*>(lengths.data)[b];
        if (length + 1 >= tokens.shape[1]) continue;
        const T* row = static_cast<const T*>(logits.data) + b * logits.shape[1];
        std::vector<float> wide(static_cast<std::size_t>(how.n_classes));
        std::transform(row, row + how.n_classes, wide.begin(),
                       [](T x) { return static_cast<float>(x); });
        static_cast<std::int64_t*>(tokens.data)[b * tokens.shape[1] + length + 1] =
            draw(how, wide, b, length);
        ++length;
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
