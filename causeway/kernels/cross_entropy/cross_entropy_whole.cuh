// Cross entropy of long rows that fit in shared memory, with class targets and aligned vectors.
// Bytes: the logits once, the gradient once; bound by memory: 32768 x 50304 bf16 reaches 75% of an
// H200's peak.
#pragma once

#include "causeway/kernels/cross_entropy/cross_entropy.cuh"

namespace causeway::kernels::cuda {

// Updates the elementwise maximum of vectors.
template <int kVec, class T>
__device__ __forceinline__ void include_max(Vector<T, kVec>& max, const Vector<T, kVec>& values) {
  if constexpr (sizeof(T) == 2) {
    using Pair = std::conditional_t<std::is_same_v<T, bf16>, __nv_bfloat162, __half2>;
    Pair a[kVec / 2];
    Pair b[kVec / 2];
    memcpy(a, &max, sizeof(a));
    memcpy(b, &values, sizeof(b));
#pragma unroll
    for (int i = 0; i < kVec / 2; ++i) a[i] = __hmax2(a[i], b[i]);
    memcpy(&max, a, sizeof(a));
  } else {
#pragma unroll
    for (int i = 0; i < kVec; ++i) max.value[i] = larger(max.value[i], values.value[i]);
  }
}

// The maximum is found while loading, which for 16-bit types takes one instruction per pair; then
// the sum, then the gradient while storing. This is the common case; cross_entropy_long_kernel
// handles all others.
template <class T>
__global__ void __launch_bounds__(kRowThreads, 2) cross_entropy_whole_kernel(LossRows<T> rows) {
  using C = Compute<T>;
  constexpr int kVec = vector_width<T>();
  constexpr int kUnroll = 4;
  extern __shared__ __align__(16) unsigned char cache_memory[];
  auto* cache = reinterpret_cast<T*>(cache_memory);
  __shared__ C max_memory[64];
  __shared__ ClassSums<C> memory[64];
  TeamScratch<C> max_scratch(max_memory);
  TeamScratch<ClassSums<C>> scratch(memory);
  const Team team(kRowThreads);
  const T* logits = rows.logits + std::int64_t{blockIdx.x} * rows.n_columns;
  T* gradient = rows.gradient + std::int64_t{blockIdx.x} * rows.n_columns;
  const int n_vectors = rows.n_columns / kVec;
  const int target = rows.target(blockIdx.x, team.rank == 0);
  Vector<T, kVec> most;
#pragma unroll
  for (int i = 0; i < kVec; ++i) most.value[i] = static_cast<T>(minus_infinity<C>());
  for (int begin = team.rank; begin < n_vectors; begin += kUnroll * kRowThreads) {
    Vector<T, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = begin + u * kRowThreads;
      loaded[u] = most;
      if (v < n_vectors) loaded[u] = load_vector<kVec>(logits + v * kVec);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = begin + u * kRowThreads;
      if (v < n_vectors) store_shared(cache + v * kVec, loaded[u]);
      include_max(most, loaded[u]);
    }
  }
  C max = static_cast<C>(most.value[0]);
#pragma unroll
  for (int i = 1; i < kVec; ++i) max = larger(max, static_cast<C>(most.value[i]));
  max = combine_team(team, max, minus_infinity<C>(), max_scratch,
                     [](C a, C b) { return larger(a, b); });
  const C base = max == minus_infinity<C>() ? C(0) : max;
  // A thread reads only what it wrote itself.
  auto sums = ClassSums<C>{{max, C(0)}, C(0), C(0)};
#pragma unroll kUnroll
  for (int v = team.rank; v < n_vectors; v += kRowThreads) {
    const auto x = unpack(load_vector<kVec>(static_cast<const T*>(cache) + v * kVec));
    C partial = C(0);
#pragma unroll
    for (int i = 0; i < kVec; ++i) partial += exp_below_zero(x.value[i] - base);
    sums.softmax.sum += partial;
    if (rows.smoothing != C(0)) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) sums.total += base - x.value[i];
    }
    if (target >= v * kVec && target < (v + 1) * kVec) {
      sums.at_target = static_cast<C>(cache[target]);
    }
  }
  sums = combine_team(team, sums, ClassSums<C>{{max, C(0)}, C(0), C(0)}, scratch,
                      ClassSums<C>::combine);
  if (team.rank == 0) {
    rows.losses[blockIdx.x] =
        target < 0 ? C(0) : class_loss(sums, rows.n_columns, rows.smoothing, base);
  }
  const C scale = target < 0 ? C(0) : (rows.scale != nullptr ? *rows.scale : C(1));
  const C factor = scale / sums.softmax.sum;
  const C spread = rows.smoothing / static_cast<C>(rows.n_columns) * scale;
  const C peak = (C(1) - rows.smoothing) * scale;
#pragma unroll kUnroll
  for (int v = team.rank; v < n_vectors; v += kRowThreads) {
    auto x = unpack(load_vector<kVec>(static_cast<const T*>(cache) + v * kVec));
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      x.value[i] = exp_below_zero(x.value[i] - base) * factor - spread;
      if (target < 0) x.value[i] = C(0);
    }
    if (target >= v * kVec && target < (v + 1) * kVec) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        if (v * kVec + i == target) x.value[i] -= peak;
      }
    }
    store_vector(gradient + v * kVec, pack<T>(x));
  }
}

}  // namespace causeway::kernels::cuda
