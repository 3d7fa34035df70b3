#include "causeway/data/permutation.h"

#include "causeway/random/philox.h"

#include <bit>

namespace causeway::data {

namespace {

constexpr std::uint64_t kRounds = 6;

// A Feistel network permutes the numbers of 2 * half_bits bits, whatever its round function is.
std::uint64_t feistel(std::uint64_t value, int half_bits, std::uint64_t seed,
                      std::uint64_t number) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const Bits128 bits = philox(seed, number, round << 32 | right);
    const std::uint64_t mixed = left ^ (bits.word[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

}  // namespace

std::uint64_t permuted(std::uint64_t index, std::uint64_t count, std::uint64_t seed,
                       std::uint64_t number) {
  if (count <= 1) return 0;
  const int half_bits = (static_cast<int>(std::bit_width(count - 1)) + 1) / 2;
  // The network permutes up to four times as many numbers. Repeating it until the result is in
  // range permutes the numbers in range.
  do {
    index = feistel(index, half_bits, seed, number);
  } while (index >= count);
  return index;
}

}  // namespace causeway::data
