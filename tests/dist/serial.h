// Values by rank, and the serial reference of a collective.
#pragma once

#include "causeway/dist/group.h"
#include "causeway/tensor/dtype_of.h"
#include "tests/tensor/devices.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace causeway::dist {

inline constexpr DType kReduced[] = {DType::f32, DType::f64, DType::bf16, DType::i64};
inline constexpr Reduction kAllReductions[] = {Reduction::sum, Reduction::mean, Reduction::max};

// Values of many magnitudes: a sum in another order would have other bits.
inline Tensor values_of(int rank, std::int64_t count, DType dtype) {
  Generator generator(100 + static_cast<std::uint64_t>(rank));
  if (dtype == DType::i64) return generator.integers({count}, -1'000'000, 1'000'000, dtype);
  const Tensor magnitude = exp(generator.normal({count}, 0, 4, DType::f64));
  return (generator.normal({count}, 0, 1, DType::f64) * magnitude).to(dtype);
}

template <class T>
Tensor serial_values(int n_ranks, std::int64_t count, Reduction how) {
  std::vector<Compute<T>> total;
  for (int rank = 0; rank < n_ranks; ++rank) {
    const Tensor theirs = values_of(rank, count, dtype_of<T>());
    const std::vector<T> values = theirs.to_vector<T>();
    if (rank == 0) total.assign(values.begin(), values.end());
    for (std::size_t i = 0; rank > 0 && i < values.size(); ++i) {
      const Compute<T> value = values[i];
      total[i] = how == Reduction::max ? std::max(total[i], value) : total[i] + value;
    }
  }
  std::vector<T> result;
  for (const Compute<T> value : total) {
    result.push_back(
        static_cast<T>(how == Reduction::mean ? value / static_cast<Compute<T>>(n_ranks) : value));
  }
  return Tensor::from<T>(result, {count});
}

inline Tensor serial(int n_ranks, std::int64_t count, DType dtype, Reduction how) {
  switch (dtype) {
    case DType::f64: return serial_values<double>(n_ranks, count, how);
    case DType::bf16: return serial_values<bf16>(n_ranks, count, how);
    case DType::i64: return serial_values<std::int64_t>(n_ranks, count, how);
    default: return serial_values<float>(n_ranks, count, how);
  }
}

}  // namespace causeway::dist
