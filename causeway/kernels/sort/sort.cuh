// Stable radix sort of unsigned keys with 32-bit values, for other kernels.
#pragma once

#include "causeway/runtime/pool.h"

#include <cstdint>

namespace causeway::kernels::cuda {

// Keys and values with the sort's alternate buffers; afterwards `keys` and `values` point to the
// sorted ones.
template <class Key>
struct SortPairs {
  Key* keys = nullptr;
  Key* other_keys = nullptr;
  std::uint32_t* values = nullptr;
  std::uint32_t* other_values = nullptr;
};

// Sorts by the lowest `n_bits` bits of the keys.
void sort_pairs(StreamView stream, SortPairs<std::uint32_t>& pairs, std::int64_t count, int n_bits);
void sort_pairs(StreamView stream, SortPairs<std::uint64_t>& pairs, std::int64_t count, int n_bits);

}  // namespace causeway::kernels::cuda
