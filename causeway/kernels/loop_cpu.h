// Runs a loop nest on the CPU's threads; each run of the innermost dimension is one call of `row`.
#pragma once

#include "causeway/kernels/loop.h"
#include "causeway/runtime/threads.h"

#include <algorithm>

// For the function in a loop's body: a call that is not inlined prevents vectorisation.
#define CAUSEWAY_INLINE __attribute__((always_inline))

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kGrain = 32768;  // elements per thread, at least

// Calls row(count, offsets) for runs of the innermost dimension; offsets[k] is the start of operand
// k's run, in elements.
template <int kOperands, class Row>
void for_each_row(const Loop<kOperands>& loop, const Row& row, std::int64_t grain = kGrain) {
  using Offsets = std::array<std::int64_t, kOperands>;
  const std::int64_t inner = loop.size[0];
  parallel_for(loop.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxDims> index{};
    Offsets offsets{};
    std::int64_t rest = begin;
    for (std::size_t dim = 0; dim < static_cast<std::size_t>(loop.n_dims); ++dim) {
      index[dim] = rest % loop.size[dim];
      rest /= loop.size[dim];
      for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += index[dim] * loop.stride[k][dim];
    }
    for (std::int64_t position = begin; position < end;) {
      const std::int64_t run = std::min(inner - index[0], end - position);
      row(run, offsets);
      position += run;
      for (std::size_t k = 0; k < kOperands; ++k) offsets[k] -= index[0] * loop.stride[k][0];
      index[0] = 0;
      for (std::size_t dim = 1; dim < static_cast<std::size_t>(loop.n_dims); ++dim) {
        for (std::size_t k = 0; k < kOperands; ++k) offsets[k] += loop.stride[k][dim];
        if (++index[dim] < loop.size[dim]) break;
        for (std::size_t k = 0; k < kOperands; ++k) {
          offsets[k] -= loop.size[dim] * loop.stride[k][dim];
        }
        index[dim] = 0;
      }
    }
  });
}

// out[i] = function(in[i]), with strides.
template <class In, class Out, class Function>
void map_row(std::int64_t count, const In* __restrict in, std::int64_t in_stride,
             Out* __restrict out, std::int64_t out_stride, const Function& function) {
  std::int64_t i = 0;
  if (in_stride == 1 && out_stride == 1) {
    // The loop over a block is fully unrolled, so that several vectors are in flight in a long
    // function and hide its latency.
    constexpr std::int64_t kBlock = 16;
    for (; i + kBlock <= count; i += kBlock) {
      Out block[kBlock];
#pragma omp simd
      for (std::int64_t j = 0; j < kBlock; ++j) block[j] = function(in[i + j]);
      for (std::int64_t j = 0; j < kBlock; ++j) out[i + j] = block[j];
    }
  }
  for (; i < count; ++i) out[i * out_stride] = function(in[i * in_stride]);
}

// out[i] = function(a[i], b[i]); stride 0 repeats one value.
template <class In, class Out, class Function>
void map_row(std::int64_t count, const In* a, std::int64_t a_stride, const In* b,
             std::int64_t b_stride, Out* out, std::int64_t out_stride, const Function& function) {
  if (out_stride == 1 && a_stride == 1 && b_stride == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = function(a[i], b[i]);
  } else if (out_stride == 1 && a_stride == 1 && b_stride == 0) {
    const In value = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = function(a[i], value);
  } else if (out_stride == 1 && a_stride == 0 && b_stride == 1) {
    const In value = *a;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = function(value, b[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i * out_stride] = function(a[i * a_stride], b[i * b_stride]);
    }
  }
}

}  // namespace causeway::kernels::cpu
