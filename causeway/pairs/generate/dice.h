// Random choices of the generator: SplitMix64, so that a seed gives the same program everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace causeway::pairs {

// The finalizer of SplitMix64: a bijection of 64-bit words without visible structure.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ULL); }

  // In [0, n), n > 0.
  int below(int n) {
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
  }
  // In [low, high], both included.
  int between(int low, int high) { return low + below(high - low + 1); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return uniform() < probability; }

  template <class T>
  const T& pick(std::span<const T> items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }
  template <class T, std::size_t n>
  const T& pick(const T (&items)[n]) {
    return items[static_cast<std::size_t>(below(static_cast<int>(n)))];
  }
  template <class T>
  T pick(std::initializer_list<T> items) {
    return items.begin()[below(static_cast<int>(items.size()))];
  }

  // An index, with probability in proportion to its weight. At least one weight is positive.
  std::size_t weighted(std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    double at = uniform() * total;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      if (at < weights[i]) return i;
      at -= weights[i];
    }
    return last;
  }

 private:
  std::uint64_t state_;
};

}  // namespace causeway::pairs
