// Indexed reads and writes. Bytes: the indices, the elements read and the elements written, once
// each; bound by memory (84% of peak for whole rows on an H200), or by 32-byte sectors for
// scattered indices. No float atomics: scatter first finds the last writer of each position, and
// scatter_add uses a stable sort.
#include "causeway/kernels/indexing/indexing.h"

#include "causeway/core/error.h"
#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/indexing/index_check.cuh"
#include "causeway/kernels/sort/sort.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"

#include <algorithm>
#include <bit>

namespace causeway::kernels::cuda {

namespace {

dim3 grid_over(std::int64_t count) {
  return dim3(static_cast<unsigned>((count + kThreads - 1) / kThreads));
}

// T is a word of up to 16 bytes; each index selects `run` words, or zeros if it is out of range.
// The block's x dimension covers a run, its y dimension several runs.
template <class T>
__global__ void __launch_bounds__(kThreads)
    index_select_kernel(const T* in, const std::int64_t* indices, T* out, std::int64_t outer,
                        std::int64_t axis, std::int64_t run, std::int64_t n_indices,
                        IndexCheck check) {
  const std::int64_t line = std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (line >= outer * n_indices) return;
  const std::int64_t index = indices[line % n_indices];
  const bool fits = check.fits(index);
  const T* from = in + (line / n_indices * axis + (fits ? index : 0)) * run;
  T* to = out + line * run;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < run; i += blockDim.x) to[i] = fits ? from[i] : T{};
}

// The flat position in the cube selected by position `at` of the indices.
__device__ __forceinline__ std::int64_t target_of(std::int64_t at, std::int64_t index, Cube cube,
                                                  std::int64_t n_indices) {
  const std::int64_t inner = at % cube.inner;
  const std::int64_t outer = at / cube.inner / n_indices;
  return (outer * cube.axis + index) * cube.inner + inner;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const T* in, const std::int64_t* indices, T* out, Cube cube,
                  std::int64_t n_indices, IndexCheck check) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= cube.outer * n_indices * cube.inner) return;
  const std::int64_t index = indices[at];
  out[at] = check.fits(index) ? in[target_of(at, index, cube, n_indices)] : T{};
}

// The largest k that writes to each position.
__global__ void __launch_bounds__(kThreads)
    find_writers_kernel(const std::int64_t* indices, std::int32_t* writers, Cube cube,
                        std::int64_t n_indices, IndexCheck check) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= cube.outer * n_indices * cube.inner) return;
  const std::int64_t index = indices[at];
  if (!check.fits(index)) return;
  atomicMax(writers + target_of(at, index, cube, n_indices),
            static_cast<std::int32_t>(at / cube.inner % n_indices));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const T* in, const std::int64_t* indices, const std::int32_t* writers, T* out,
                   Cube cube, std::int64_t n_indices) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= cube.outer * n_indices * cube.inner) return;
  const std::int64_t index = indices[at];
  if (index < 0 || index >= cube.axis) return;
  const std::int64_t target = target_of(at, index, cube, n_indices);
  if (writers[target] == static_cast<std::int32_t>(at / cube.inner % n_indices))
    out[target] = in[at];
}

__global__ void __launch_bounds__(kThreads)
    target_keys_kernel(const std::int64_t* indices, std::uint64_t* keys, std::uint32_t* sources,
                       Cube cube, std::int64_t n_indices, std::uint64_t none, IndexCheck check) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= cube.outer * n_indices * cube.inner) return;
  const std::int64_t index = indices[at];
  keys[at] =
      check.fits(index) ? static_cast<std::uint64_t>(target_of(at, index, cube, n_indices)) : none;
  sources[at] = static_cast<std::uint32_t>(at);
}

// The first thread of each run of equal targets adds the run, in order.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_runs_kernel(const T* in, const std::uint64_t* keys, const std::uint32_t* sources, T* out,
                    std::int64_t count, std::uint64_t none) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  const std::uint64_t key = keys[at];
  if (key == none || (at > 0 && keys[at - 1] == key)) return;
  auto sum = static_cast<Compute<T>>(out[key]);
  for (std::int64_t i = at; i < count && keys[i] == key; ++i) {
    sum = static_cast<Compute<T>>(static_cast<T>(sum + static_cast<Compute<T>>(in[sources[i]])));
  }
  out[key] = static_cast<T>(sum);
}

}  // namespace

void index_select(StreamView stream, const Operand& in, const Operand& index, const Operand& out,
                  Cube cube, std::int64_t n_indices, int axis) {
  const IndexCheck check = make_check(stream, FaultSite::index_select, axis, cube.axis);
  const auto* indices = static_cast<const std::int64_t*>(index.data);
  const std::int64_t run_bytes = cube.inner * static_cast<std::int64_t>(size_of(in.dtype));
  const bool wide = run_bytes % 16 == 0 && reinterpret_cast<std::uintptr_t>(in.data) % 16 == 0 &&
                    reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0;
  const auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t words = run_bytes / static_cast<std::int64_t>(sizeof(T));
    const auto width = static_cast<unsigned>(
        std::min<std::uint64_t>(kThreads, std::bit_ceil(static_cast<std::uint64_t>(words))));
    const dim3 block(width, kThreads / width);
    const std::int64_t lines = cube.outer * n_indices;
    launch({"index_select", stream, dim3(static_cast<unsigned>((lines + block.y - 1) / block.y)),
            block},
           index_select_kernel<T>, static_cast<const T*>(in.data), indices,
           static_cast<T*>(out.data), cube.outer, cube.axis, words, n_indices, check);
  };
  if (wide) return run(Tag<Vector<std::uint32_t, 4>>());
  dispatch_size(in.dtype, run);
}

void gather(StreamView stream, const Operand& in, const Operand& index, const Operand& out,
            Cube cube, std::int64_t n_indices, int axis) {
  const IndexCheck check = make_check(stream, FaultSite::gather, axis, cube.axis);
  dispatch_size(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"gather", stream, grid_over(cube.outer * n_indices * cube.inner), dim3(kThreads)},
           gather_kernel<T>, static_cast<const T*>(in.data),
           static_cast<const std::int64_t*>(index.data), static_cast<T*>(out.data), cube, n_indices,
           check);
  });
}

void scatter(StreamView stream, const Operand& in, const Operand& index, const Operand& out,
             Cube cube, std::int64_t n_indices, int axis) {
  if (n_indices > 0x7fffffff) {
    fail(ErrorKind::invalid_argument, "scatter",
         "got more than 2^31 - 1 indices along the axis; split the call");
  }
  const IndexCheck check = make_check(stream, FaultSite::scatter, axis, cube.axis);
  const std::size_t bytes = static_cast<std::size_t>(cube.count()) * sizeof(std::int32_t);
  const Buffer space = pool_of(stream.device()).allocate(bytes, stream);
  auto* writers = reinterpret_cast<std::int32_t*>(space.data());
  driver::fill_async(stream.device().index, writers, 0xff, bytes, stream.handle());
  const auto* indices = static_cast<const std::int64_t*>(index.data);
  const dim3 grid = grid_over(cube.outer * n_indices * cube.inner);
  launch({"scatter", stream, grid, dim3(kThreads)}, find_writers_kernel, indices, writers, cube,
         n_indices, check);
  dispatch_size(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"scatter", stream, grid, dim3(kThreads)}, scatter_kernel<T>,
           static_cast<const T*>(in.data), indices, writers, static_cast<T*>(out.data), cube,
           n_indices);
  });
}

void scatter_add(StreamView stream, const Operand& in, const Operand& index, const Operand& out,
                 Cube cube, std::int64_t n_indices, int axis) {
  const std::int64_t count = cube.outer * n_indices * cube.inner;
  if (count > std::int64_t{0xffffffff}) {
    fail(ErrorKind::invalid_argument, "scatter_add",
         "got more than 2^32 - 1 elements; split the call");
  }
  const IndexCheck check = make_check(stream, FaultSite::scatter, axis, cube.axis);
  const auto n = static_cast<std::size_t>(count);
  Pool& pool = pool_of(stream.device());
  const Buffer key_space = pool.allocate(2 * n * sizeof(std::uint64_t), stream);
  const Buffer source_space = pool.allocate(2 * n * sizeof(std::uint32_t), stream);
  SortPairs<std::uint64_t> pairs;
  pairs.keys = reinterpret_cast<std::uint64_t*>(key_space.data());
  pairs.other_keys = pairs.keys + n;
  pairs.values = reinterpret_cast<std::uint32_t*>(source_space.data());
  pairs.other_values = pairs.values + n;
  // Targets, plus one extra value for indices out of range.
  const auto none = static_cast<std::uint64_t>(cube.count());
  const dim3 grid = grid_over(count);
  launch({"scatter_add", stream, grid, dim3(kThreads)}, target_keys_kernel,
         static_cast<const std::int64_t*>(index.data), pairs.keys, pairs.values, cube, n_indices,
         none, check);
  sort_pairs(stream, pairs, count, static_cast<int>(std::bit_width(none)));
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch({"scatter_add", stream, grid, dim3(kThreads)}, add_runs_kernel<T>,
           static_cast<const T*>(in.data), pairs.keys, pairs.values, static_cast<T*>(out.data),
           count, none);
  });
}

}  // namespace causeway::kernels::cuda
