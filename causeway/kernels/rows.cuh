// Rows of a matrix processed by a team of threads: part of a warp for short rows, a block for
// longer ones. Each thread keeps a few vectors of the row in registers, so memory is read once.
// Rows too long for registers are read by a block as aligned vectors. Team sizes depend on the
// shape only, and threads combine their results in a fixed order.
#pragma once

#include "causeway/kernels/elementwise/elementwise.cuh"
#include "causeway/kernels/math_device.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace causeway::kernels::cuda {

inline constexpr int kRowThreads = 512;  // of the largest block for one row

// The number of threads per row (a power of two up to 32, or a whole block), and the block size.
struct RowPlan {
  int team = 0;  // 0 if a row is too long for registers
  int threads = 0;

  bool fits() const { return team > 0; }
  int rows_per_block() const { return threads / team; }
};

// Each thread holds up to `most` vectors; short rows use up to `few`.
inline RowPlan plan_rows(std::int64_t n_columns, int vec, int few, int most,
                         int most_threads = kRowThreads) {
  const std::int64_t n_vectors = (n_columns + vec - 1) / vec;
  int lanes = 1;
  while (lanes < 32 && lanes * few < n_vectors) lanes *= 2;
  if (lanes * most >= n_vectors) return {lanes, kThreads};
  const std::int64_t threads = ((n_vectors + most - 1) / most + 31) / 32 * 32;
  if (threads > most_threads) return {};
  return {static_cast<int>(threads), static_cast<int>(threads)};
}

// Whether rows of n_columns can be read in whole vectors from all these addresses; nullptr is
// ignored.
template <class... Pointers>
bool rows_align(std::int64_t n_columns, int vec, std::size_t element, Pointers... pointers) {
  const std::size_t bytes = static_cast<std::size_t>(vec) * element;
  return n_columns % vec == 0 &&
         ((reinterpret_cast<std::uintptr_t>(pointers) % bytes == 0) && ... && true);
}

// The shared memory available to a block on the stream's device, less the static amount these
// kernels use.
inline std::size_t shared_memory_limit(StreamView stream) {
  int bytes = 0;
  driver::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                       stream.device().index),
                "shared memory");
  return static_cast<std::size_t>(bytes) - 4096;
}

struct Team {
  int size;
  int rank;  // of this thread in its team

  __device__ __forceinline__ explicit Team(int team_size)
      : size(team_size), rank(static_cast<int>(threadIdx.x) % team_size) {}

  // The first column of this thread's `vector`-th vector of a row.
  template <int kVec>
  __device__ __forceinline__ int column(int vector) const {
    return (vector * size + rank) * kVec;
  }
};

template <class Acc>
__device__ __forceinline__ Acc shuffle_xor(const Acc& value, int mask) {
  static_assert(sizeof(Acc) % 4 == 0);
  constexpr int kWords = sizeof(Acc) / 4;
  std::uint32_t words[kWords];
  memcpy(words, &value, sizeof(Acc));
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  Acc moved;
  memcpy(&moved, words, sizeof(Acc));
  return moved;
}

// Shared memory through which the warps of a block exchange values: two lines, used alternately, so
// that one barrier per reduction is enough.
template <class Acc>
struct TeamScratch {
  Acc* lines;  // shared memory for 2 * 32
  int turn = 0;

  __device__ __forceinline__ explicit TeamScratch(Acc* memory) : lines(memory) {}
};

// The combined value of the team, in each of its threads. `combine` must be commutative in every
// bit. All threads of the block must call this.
template <class Acc, class Combine>
__device__ __forceinline__ Acc combine_team(const Team& team, Acc acc, const Acc& identity,
                                            TeamScratch<Acc>& scratch, const Combine& combine) {
  if (team.size < 32) {
    for (int mask = team.size / 2; mask > 0; mask /= 2) acc = combine(acc, shuffle_xor(acc, mask));
    return acc;
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) acc = combine(acc, shuffle_xor(acc, mask));
  if (team.size == 32) return acc;
  Acc* line = scratch.lines + 32 * scratch.turn;
  scratch.turn ^= 1;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 0) line[threadIdx.x / 32] = acc;
  __syncthreads();
  acc = lane < team.size / 32 ? line[lane] : identity;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) acc = combine(acc, shuffle_xor(acc, mask));
  return acc;
}

template <class C>
__device__ __forceinline__ C sum_team(const Team& team, C value, TeamScratch<C>& scratch) {
  return combine_team(team, value, C(0), scratch, [](C a, C b) { return a + b; });
}

// Loads this thread's vectors of a row; elements beyond the row are `fill`.
template <int kVec, int kVectors, class T>
__device__ __forceinline__ void load_row(Vector<T, kVec> (&part)[kVectors], const T* row,
                                         const Team& team, int n_columns, T fill) {
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    if (column < n_columns) {
      part[v] = load_vector<kVec>(row + column);
    } else {
#pragma unroll
      for (int i = 0; i < kVec; ++i) part[v].value[i] = fill;
    }
  }
}

// A vector's values in the compute type.
template <class C, int kVec>
struct Values {
  C value[kVec];
};

// 16-bit floats are converted in pairs, as words: fewer instructions and registers.
template <int kVec, class T>
__device__ __forceinline__ Values<Compute<T>, kVec> unpack(const Vector<T, kVec>& vector) {
  Values<Compute<T>, kVec> values;
  if constexpr (sizeof(T) == 2 && kVec > 1) {
    std::uint32_t words[kVec / 2];
    memcpy(words, &vector, sizeof(words));
#pragma unroll
    for (int i = 0; i < kVec / 2; ++i) {
      if constexpr (std::is_same_v<T, bf16>) {
        values.value[2 * i] = __uint_as_float(words[i] << 16);
        values.value[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
      } else {
        __half2 pair;
        memcpy(&pair, &words[i], sizeof(pair));
        const float2 both = __half22float2(pair);
        values.value[2 * i] = both.x;
        values.value[2 * i + 1] = both.y;
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < kVec; ++i) values.value[i] = static_cast<Compute<T>>(vector.value[i]);
  }
  return values;
}

template <class T, int kVec>
__device__ __forceinline__ Vector<T, kVec> pack(const Values<Compute<T>, kVec>& values) {
  Vector<T, kVec> vector;
  if constexpr (sizeof(T) == 2 && kVec > 1) {
    std::uint32_t words[kVec / 2];
#pragma unroll
    for (int i = 0; i < kVec / 2; ++i) {
      if constexpr (std::is_same_v<T, bf16>) {
        const __nv_bfloat162 pair =
            __floats2bfloat162_rn(values.value[2 * i], values.value[2 * i + 1]);
        memcpy(&words[i], &pair, sizeof(pair));
      } else {
        const __half2 pair = __floats2half2_rn(values.value[2 * i], values.value[2 * i + 1]);
        memcpy(&words[i], &pair, sizeof(pair));
      }
    }
    memcpy(&vector, words, sizeof(words));
  } else {
#pragma unroll
    for (int i = 0; i < kVec; ++i) vector.value[i] = static_cast<T>(values.value[i]);
  }
  return vector;
}

// Makes the compiler keep these vectors packed. Otherwise it keeps 16-bit values that a loop reads
// repeatedly as f32, in twice the registers.
template <int kVec, int kVectors, class T>
__device__ __forceinline__ void keep_packed(Vector<T, kVec> (&part)[kVectors]) {
  if constexpr (sizeof(T) == 2 && kVec > 1) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      std::uint32_t words[kVec / 2];
      memcpy(words, &part[v], sizeof(words));
#pragma unroll
      for (int i = 0; i < kVec / 2; ++i) asm volatile("" : "+r"(words[i]));
      memcpy(&part[v], words, sizeof(words));
    }
  }
}

// A row of any length and alignment as aligned vectors; the first and the last may extend beyond
// it.
template <int kVec, class T>
struct VectorRow {
  T* row;
  int n_columns;
  int shift;  // elements of the first vector before the row

  __device__ __forceinline__ VectorRow(T* first, int columns)
      : row(first),
        n_columns(columns),
        shift(static_cast<int>(reinterpret_cast<std::uintptr_t>(first) / sizeof(T) % kVec)) {}

  __device__ __forceinline__ int n_vectors() const { return (n_columns + shift + kVec - 1) / kVec; }
  // The column of the vector's first element; may be negative.
  __device__ __forceinline__ int column(int vector) const { return vector * kVec - shift; }
  __device__ __forceinline__ bool is_whole(int vector) const {
    return column(vector) >= 0 && column(vector) + kVec <= n_columns;
  }

  template <class Element>
  __device__ __forceinline__ Vector<Element, kVec> load(int vector, Element fill) const {
    if (is_whole(vector)) {
      return load_vector<kVec>(static_cast<const Element*>(row + column(vector)));
    }
    Vector<Element, kVec> loaded;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = column(vector) + i;
      loaded.value[i] = at >= 0 && at < n_columns ? row[at] : fill;
    }
    return loaded;
  }

  // Stores to the same columns of `to`; `alike` says that `to` has the same alignment as this row.
  template <class Element>
  __device__ __forceinline__ void store(int vector, Element* to, bool alike,
                                        const Vector<Element, kVec>& values) const {
    if (alike && is_whole(vector)) return store_vector(to + column(vector), values);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = column(vector) + i;
      if (at >= 0 && at < n_columns) to[at] = values.value[i];
    }
  }
};

// Whether both addresses have the same offset within 16 bytes.
inline bool same_alignment(const void* a, const void* b) {
  return reinterpret_cast<std::uintptr_t>(a) % 16 == reinterpret_cast<std::uintptr_t>(b) % 16;
}

// exp(x) for x <= 0, within 2 ulp in f32; subnormal results are 0.
__device__ __forceinline__ float exp_below_zero(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.44269504f));
  return result;
}
__device__ __forceinline__ double exp_below_zero(double x) { return ::exp(x); }

// 1 / sqrt(x), within 2 ulp in f32.
__device__ __forceinline__ float reciprocal_root(float x) { return ::rsqrtf(x); }
__device__ __forceinline__ double reciprocal_root(double x) { return 1.0 / ::sqrt(x); }

__device__ __forceinline__ float larger(float a, float b) { return ::fmaxf(a, b); }
__device__ __forceinline__ double larger(double a, double b) { return ::fmax(a, b); }

template <class C>
__device__ __forceinline__ C minus_infinity() {
  return -std::numeric_limits<C>::infinity();
}

// The maximum of some values and the sum of exp(value - max), the denominator of a softmax. A NaN
// propagates to the sum.
template <class C>
struct MaxSum {
  C max;
  C sum;

  static __device__ __forceinline__ MaxSum none() { return {minus_infinity<C>(), C(0)}; }
  // exp(value - max); 0 if all values are -inf.
  static __device__ __forceinline__ C term(C value, C max) {
    return exp_below_zero(value - (max == minus_infinity<C>() ? C(0) : max));
  }
  // The factor that converts a sum relative to `from` into one relative to the larger `to`.
  static __device__ __forceinline__ C rescale(C from, C to) {
    return from == to ? C(1) : exp_below_zero(from - to);
  }
  static __device__ __forceinline__ MaxSum combine(const MaxSum& a, const MaxSum& b) {
    const bool first = a.max > b.max;
    const C high = first ? a.max : b.max;
    const C low = first ? b.max : a.max;
    return {high, (first ? a.sum : b.sum) + (first ? b.sum : a.sum) * rescale(low, high)};
  }
};

// Includes a few vectors; unused elements must be -inf.
template <int kVec, int kUnroll, class C, class T>
__device__ __forceinline__ void include_vectors(MaxSum<C>& acc,
                                                const Vector<T, kVec> (&loaded)[kUnroll]) {
  C max = acc.max;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const auto x = unpack(loaded[u]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) max = larger(max, x.value[i]);
  }
  C sum = C(0);
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const auto x = unpack(loaded[u]);
    C partial = C(0);
#pragma unroll
    for (int i = 0; i < kVec; ++i) partial += MaxSum<C>::term(x.value[i], max);
    sum += partial;
  }
  acc = {max, acc.sum * MaxSum<C>::rescale(acc.max, max) + sum};
}

}  // namespace causeway::kernels::cuda
