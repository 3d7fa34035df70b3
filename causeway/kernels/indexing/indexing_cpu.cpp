// Indexed reads and writes on the CPU. Bound by memory: the elements moved and the indices.
#include "causeway/kernels/indexing/indexing.h"

#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/fault.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cstring>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kGrain = 32768;

void check(FaultSite site, const Operand& index, std::int64_t bound, int axis) {
  const auto* indices = static_cast<const std::int64_t*>(index.data);
  const std::int64_t count = numel(index.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= bound) {
      throw_fault({static_cast<std::int32_t>(site), axis, indices[i], bound});
    }
  }
}

// Calls body(from, to, selected, at) for each index: `at` is its flat position, `selected` the
// position in the cube that it selects. Each (outer, inner) line is processed in the order of k by
// one thread.
template <class T, class Body>
void for_each_index(const Operand& in, const Operand& index, const Operand& out, Cube cube,
                    std::int64_t n_indices, const Body& body) {
  const auto* indices = static_cast<const std::int64_t*>(index.data);
  const auto* from = static_cast<const T*>(in.data);
  auto* to = static_cast<T*>(out.data);
  parallel_for(cube.outer * cube.inner,
               std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(n_indices, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t line = begin; line < end; ++line) {
                   const std::int64_t outer = line / cube.inner;
                   const std::int64_t inner = line % cube.inner;
                   for (std::int64_t k = 0; k < n_indices; ++k) {
                     const std::int64_t at = (outer * n_indices + k) * cube.inner + inner;
                     body(from, to, (outer * cube.axis + indices[at]) * cube.inner + inner, at);
                   }
                 }
               });
}

}  // namespace

void index_select(StreamView, const Operand& in, const Operand& index, const Operand& out,
                  Cube cube, std::int64_t n_indices, int axis) {
  check(FaultSite::index_select, index, cube.axis, axis);
  const auto* indices = static_cast<const std::int64_t*>(index.data);
  const std::size_t run = static_cast<std::size_t>(cube.inner) * size_of(in.dtype);
  const auto* from = static_cast<const std::byte*>(in.data);
  auto* to = static_cast<std::byte*>(out.data);
  parallel_for(cube.outer * n_indices,
               std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(cube.inner, 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t source = i / n_indices * cube.axis + indices[i % n_indices];
                   std::memcpy(to + static_cast<std::size_t>(i) * run,
                               from + static_cast<std::size_t>(source) * run, run);
                 }
               });
}

void gather(StreamView, const Operand& in, const Operand& index, const Operand& out, Cube cube,
            std::int64_t n_indices, int axis) {
  check(FaultSite::gather, index, cube.axis, axis);
  dispatch_size(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index<T>(in, index, out, cube, n_indices,
                      [](const T* from, T* to, std::int64_t selected, std::int64_t at) {
                        to[at] = from[selected];
                      });
  });
}

void scatter(StreamView, const Operand& in, const Operand& index, const Operand& out, Cube cube,
             std::int64_t n_indices, int axis) {
  check(FaultSite::scatter, index, cube.axis, axis);
  dispatch_size(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index<T>(in, index, out, cube, n_indices,
                      [](const T* from, T* to, std::int64_t selected, std::int64_t at) {
                        to[selected] = from[at];
                      });
  });
}

void scatter_add(StreamView, const Operand& in, const Operand& index, const Operand& out, Cube cube,
                 std::int64_t n_indices, int axis) {
  check(FaultSite::scatter, index, cube.axis, axis);
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    for_each_index<T>(in, index, out, cube, n_indices,
                      [](const T* from, T* to, std::int64_t selected, std::int64_t at) {
                        T& target = to[selected];
                        target = static_cast<T>(static_cast<C>(target) + static_cast<C>(from[at]));
                      });
  });
}

}  // namespace causeway::kernels::cpu
