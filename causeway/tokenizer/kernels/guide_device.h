// The guided search: how many thresholds of a sorted list a value has reached. A monotone map takes
// the value to a cell, the cell lists the few candidate thresholds, and those are compared. The
// comparisons are exact, so the map may round; it only has to use the same arithmetic for
// thresholds and values.
#pragma once

#include "causeway/kernels/sort/sort_key_device.h"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace causeway {

// One column's map: cell = (place - low) * scale, where the place is the value or, for columns
// whose values span many orders of magnitude, its sort key.
struct GuideColumn {
  double low = 0;
  double scale = 0;
  std::int32_t n_thresholds = 0;
  std::int32_t by_key = 0;
  std::int32_t n_steps = 0;  // comparisons for the fullest cell
  std::int32_t unused = 0;
};

// The type of the map's arithmetic: f64 for wide types, f32 for narrow ones.
template <class V>
using GuideReal = std::conditional_t<sizeof(V) == 8, double, float>;

// A cell: its first threshold and their number, 16 bits each.
CAUSEWAY_HOST_DEVICE std::uint32_t pack_cell(std::uint32_t first, std::uint32_t count) {
  return first | (count << 16);
}
inline constexpr std::int32_t kMostThresholds = 65535;

template <class V>
CAUSEWAY_HOST_DEVICE GuideReal<V> guide_place(V value, bool by_key) {
  return by_key ? static_cast<GuideReal<V>>(sort_key(value)) : static_cast<GuideReal<V>>(value);
}

// The cell of a value; NaN gives cell 0.
template <class V>
CAUSEWAY_HOST_DEVICE std::int32_t guide_cell(V value, GuideReal<V> low, GuideReal<V> scale,
                                             bool by_key, std::int32_t n_cells) {
  using Real = GuideReal<V>;
  Real at = (guide_place(value, by_key) - low) * scale;
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) {  // the conversion saturates and maps NaN to 0
    const std::uint32_t cell = __float2uint_rz(at);
    return static_cast<std::int32_t>(min(cell, static_cast<std::uint32_t>(n_cells - 1)));
  }
#endif
  at = at > Real(0) ? at : Real(0);
  const Real last = static_cast<Real>(n_cells - 1);
  return static_cast<std::int32_t>(at < last ? at : last);
}

// Number of thresholds that `value` has reached, given its cell. NaN reaches none of the cell's.
template <class V>
CAUSEWAY_HOST_DEVICE std::uint32_t search_cell(V value, std::uint32_t cell, const V* thresholds) {
  std::uint32_t first = cell & 0xffffu;
  std::uint32_t count = cell >> 16;
  while (count > 0) {
    const std::uint32_t half = count >> 1;
    const bool reached = value >= thresholds[first + half];
    first = reached ? first + half + 1 : first;
    count = reached ? count - half - 1 : half;
  }
  return first;
}

// Branch-free variant with a fixed number of steps, for CPUs: whether a cell has zero or one
// threshold is data-dependent and unpredictable. Reads thresholds[first] of empty cells too, so one
// entry past the last must be readable.
template <class V>
CAUSEWAY_HOST_DEVICE std::uint32_t search_cell_in_steps(V value, std::uint32_t cell,
                                                        const V* thresholds, std::int32_t n_steps) {
  std::uint32_t first = cell & 0xffffu;
  std::uint32_t count = cell >> 16;
  for (std::int32_t step = 0; step < n_steps; ++step) {
    const std::uint32_t half = count >> 1;
    const auto reached = static_cast<std::uint32_t>(value >= thresholds[first + half]) &
                         static_cast<std::uint32_t>(count > 0);
    first += reached * (half + 1);
    count = half - (reached & ((count & 1u) ^ 1u));
  }
  return first;
}

template <class V>
CAUSEWAY_HOST_DEVICE bool is_missing(V value) {
  if constexpr (std::is_floating_point_v<V>) return value != value;
  return false;
}

// The next larger number; `value` itself if there is none.
CAUSEWAY_HOST_DEVICE float next_above(float value) {
  if (!(value < std::numeric_limits<float>::infinity())) return value;
  value += 0.0f;
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  bits = bits == 0 ? 1u : (bits >> 31) != 0 ? bits - 1 : bits + 1;
  memcpy(&value, &bits, sizeof(bits));
  return value;
}

CAUSEWAY_HOST_DEVICE double next_above(double value) {
  if (!(value < std::numeric_limits<double>::infinity())) return value;
  value += 0.0;
  std::uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  bits = bits == 0 ? 1u : (bits >> 63) != 0 ? bits - 1 : bits + 1;
  memcpy(&value, &bits, sizeof(bits));
  return value;
}

CAUSEWAY_HOST_DEVICE std::int32_t next_above(std::int32_t value) {
  return value == std::numeric_limits<std::int32_t>::max() ? value : value + 1;
}
CAUSEWAY_HOST_DEVICE std::int64_t next_above(std::int64_t value) {
  return value == std::numeric_limits<std::int64_t>::max() ? value : value + 1;
}

// Inverse of sort_key.
CAUSEWAY_HOST_DEVICE void value_of_key(std::uint32_t key, float& value) {
  const std::uint32_t bits = (key >> 31) != 0 ? key ^ 0x80000000u : ~key;
  memcpy(&value, &bits, sizeof(bits));
}
CAUSEWAY_HOST_DEVICE void value_of_key(std::uint64_t key, double& value) {
  const std::uint64_t bits = (key >> 63) != 0 ? key ^ (std::uint64_t{1} << 63) : ~key;
  memcpy(&value, &bits, sizeof(bits));
}
CAUSEWAY_HOST_DEVICE void value_of_key(std::uint32_t key, std::int32_t& value) {
  value = static_cast<std::int32_t>(key ^ 0x80000000u);
}
CAUSEWAY_HOST_DEVICE void value_of_key(std::uint64_t key, std::int64_t& value) {
  value = static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63));
}

// First row of part i if n_rows are cut into n_parts, the longer ones first; n_rows for part
// n_parts.
CAUSEWAY_HOST_DEVICE std::int64_t first_row_of(std::int64_t i, std::int64_t n_parts,
                                               std::int64_t n_rows) {
  const std::int64_t rest = n_rows % n_parts;
  return n_rows / n_parts * i + (i < rest ? i : rest);
}

// The row of sample i of `n_samples`: one in each interval of n / n_samples rows, at a
// pseudo-random position, so that periodic data does not alias.
CAUSEWAY_HOST_DEVICE std::int64_t sample_row(std::int64_t i, std::int64_t n_samples,
                                             std::int64_t n_rows) {
  if (n_rows <= n_samples) return i;
  const std::int64_t interval = n_rows / n_samples;
  std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ull;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9ull;
  mixed ^= mixed >> 32;
  return first_row_of(i, n_samples, n_rows) +
         static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(interval));
}

}  // namespace causeway
