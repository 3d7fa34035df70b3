// Numbers as unsigned keys of the same order, for radix sort and stable comparison.
#pragma once

#include "causeway/kernels/half_device.h"

#include <cstdint>
#include <type_traits>

namespace causeway {

// NaN gives the largest key, -0 the key of 0.
CAUSEWAY_HOST_DEVICE std::uint32_t sort_key(float value) {
  if (value != value) return 0xffffffffu;
  value += 0.0f;  // -0 to 0
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

CAUSEWAY_HOST_DEVICE std::uint64_t sort_key(double value) {
  if (value != value) return ~std::uint64_t{0};
  value += 0.0;
  std::uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

CAUSEWAY_HOST_DEVICE std::uint64_t sort_key(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

CAUSEWAY_HOST_DEVICE std::uint32_t sort_key(std::int32_t value) {
  return static_cast<std::uint32_t>(value) ^ 0x80000000u;
}

// The key type of T: 64 bits for 64-bit types, else 32.
template <class T>
using SortKey = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
CAUSEWAY_HOST_DEVICE SortKey<T> sort_key_of(T value, bool descending) {
  const SortKey<T> key = sort_key(static_cast<Compute<T>>(value));
  return descending ? static_cast<SortKey<T>>(~key) : key;
}

}  // namespace causeway
