// Sorts rows on the GPU with one radix sort: the key of an element is its row, then its value, so
// that any number of rows is one call. Bytes: keys and positions are read and written once for
// every 8 bits of the key.
#include "causeway/kernels/sort/sort.h"

#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/sort/sort.cuh"
#include "causeway/kernels/sort/sort_key_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/pool.h"

#include <cub/device/device_radix_sort.cuh>

#include <bit>

namespace causeway::kernels::cuda {

namespace {

template <class Key>
void sort_with_cub(StreamView stream, SortPairs<Key>& pairs, std::int64_t count, int n_bits) {
  const driver::DeviceScope scope(stream.device().index);
  cub::DoubleBuffer<Key> keys(pairs.keys, pairs.other_keys);
  cub::DoubleBuffer<std::uint32_t> values(pairs.values, pairs.other_values);
  std::size_t bytes = 0;
  driver::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, count, 0, n_bits,
                                                stream.handle()),
                "sort");
  const Buffer space = pool_of(stream.device()).allocate(bytes, stream);
  driver::check(cub::DeviceRadixSort::SortPairs(space.data(), bytes, keys, values, count, 0, n_bits,
                                                stream.handle()),
                "sort");
  pairs = {keys.Current(), keys.Alternate(), values.Current(), values.Alternate()};
}

// The key of the value, below the row number if both fit.
template <class T, class Key>
__global__ void __launch_bounds__(kThreads)
    make_keys_kernel(const T* in, Key* keys, std::uint32_t* positions, std::int64_t count,
                     std::int64_t n_columns, bool descending, bool with_rows) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  Key key = sort_key_of(in[at], descending);
  if constexpr (sizeof(Key) == 8 && sizeof(T) <= 4) {
    if (with_rows) key |= static_cast<Key>(at / n_columns) << 32;
  }
  keys[at] = key;
  positions[at] = static_cast<std::uint32_t>(at);
}

// The rows of the positions in their current order, as new keys.
__global__ void __launch_bounds__(kThreads)
    make_row_keys_kernel(const std::uint32_t* positions, std::uint64_t* keys, std::int64_t count,
                         std::int64_t n_columns) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < count) keys[at] = positions[at] / n_columns;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gather_sorted_kernel(const T* in, const std::uint32_t* positions, T* values,
                         std::int64_t* indices, std::int64_t count, std::int64_t n_columns) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  const std::uint32_t position = positions[at];
  values[at] = in[position];
  indices[at] = position % n_columns;
}

template <class T, class Key>
void sort_rows(StreamView stream, const T* in, T* values, std::int64_t* indices,
               std::int64_t n_rows, std::int64_t n_columns, bool descending) {
  const std::int64_t count = n_rows * n_columns;
  const auto n = static_cast<std::size_t>(count);
  Pool& pool = pool_of(stream.device());
  const Buffer key_space = pool.allocate(2 * n * sizeof(Key), stream);
  const Buffer value_space = pool.allocate(2 * n * sizeof(std::uint32_t), stream);
  SortPairs<Key> pairs;
  pairs.keys = reinterpret_cast<Key*>(key_space.data());
  pairs.other_keys = pairs.keys + n;
  pairs.values = reinterpret_cast<std::uint32_t*>(value_space.data());
  pairs.other_values = pairs.values + n;
  const dim3 grid(static_cast<unsigned>((count + kThreads - 1) / kThreads));
  const int row_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_rows - 1)));
  const bool rows_fit = sizeof(T) <= 4;
  launch({"sort", stream, grid, dim3(kThreads)}, make_keys_kernel<T, Key>, in, pairs.keys,
         pairs.values, count, n_columns, descending, n_rows > 1);
  const int value_bits = sizeof(T) == 8 ? 64 : 32;
  sort_pairs(stream, pairs, count, rows_fit && n_rows > 1 ? value_bits + row_bits : value_bits);
  if constexpr (sizeof(T) == 8) {
    if (n_rows > 1) {  // a stable sort by row groups the rows again
      launch({"sort", stream, grid, dim3(kThreads)}, make_row_keys_kernel, pairs.values, pairs.keys,
             count, n_columns);
      sort_pairs(stream, pairs, count, row_bits);
    }
  }
  launch({"sort", stream, grid, dim3(kThreads)}, gather_sorted_kernel<T>, in, pairs.values, values,
         indices, count, n_columns);
}

}  // namespace

void sort_pairs(StreamView stream, SortPairs<std::uint32_t>& pairs, std::int64_t count,
                int n_bits) {
  sort_with_cub(stream, pairs, count, n_bits);
}

void sort_pairs(StreamView stream, SortPairs<std::uint64_t>& pairs, std::int64_t count,
                int n_bits) {
  sort_with_cub(stream, pairs, count, n_bits);
}

void sort(StreamView stream, const Operand& in, const Operand& values, const Operand& indices,
          std::int64_t n_rows, std::int64_t n_columns, bool descending) {
  if (n_rows * n_columns > std::int64_t{0xffffffff}) {
    fail(ErrorKind::invalid_argument, "sort",
         "got more than 2^32 - 1 elements; sort pieces of the tensor");
  }
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(values.data);
    auto* places = static_cast<std::int64_t*>(indices.data);
    if (sizeof(T) <= 4 && n_rows == 1) {
      sort_rows<T, SortKey<T>>(stream, from, to, places, n_rows, n_columns, descending);
    } else {
      sort_rows<T, std::uint64_t>(stream, from, to, places, n_rows, n_columns, descending);
    }
  });
}

}  // namespace causeway::kernels::cuda
