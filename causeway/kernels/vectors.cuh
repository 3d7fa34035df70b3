// Vectors of up to 16 bytes, the widest access of a thread, and division of work into vectors.
#pragma once

#include <cstdint>
#include <cstring>

#include <cuda_runtime.h>

namespace causeway::kernels::cuda {

inline constexpr int kThreads = 256;

// Division of n < 2^31 by a constant, as a multiplication and a shift.
struct FastDivider {
  std::uint32_t divisor = 1;
  std::uint32_t magic = 1;
  std::uint32_t shift = 0;

  FastDivider() = default;
  explicit FastDivider(std::uint32_t by) : divisor(by) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    magic = static_cast<std::uint32_t>(
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by + 1);
  }
  __device__ __forceinline__ std::uint32_t quotient(std::uint32_t n) const {
    return (__umulhi(n, magic) + n) >> shift;
  }
};

// Aligned to its size, so that it is loaded and stored in one access; a single T keeps its own
// alignment.
template <class T, int kVec>
struct alignas(kVec > 1 ? sizeof(T) * kVec : alignof(T)) Vector {
  T value[kVec];
};

template <std::size_t kBytes>
struct WordOf;
template <>
struct WordOf<16> {
  using type = uint4;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<4> {
  using type = std::uint32_t;
};
template <>
struct WordOf<2> {
  using type = std::uint16_t;
};

// Loads a vector in one access; the compiler may split a plain assignment into elements.
template <int kVec, class T>
__device__ __forceinline__ Vector<T, kVec> load_vector(const T* from) {
  Vector<T, kVec> vector;
  if constexpr (kVec == 1) {
    vector.value[0] = *from;
  } else {
    const auto word = *reinterpret_cast<const typename WordOf<sizeof(vector)>::type*>(from);
    memcpy(&vector, &word, sizeof(vector));
  }
  return vector;
}

// For memory that the kernel does not write: the load may be moved across stores and barriers.
template <int kVec, class T>
__device__ __forceinline__ Vector<T, kVec> load_constant(const T* from) {
  Vector<T, kVec> vector;
  const auto word = __ldg(reinterpret_cast<const typename WordOf<sizeof(vector)>::type*>(from));
  memcpy(&vector, &word, sizeof(vector));
  return vector;
}

template <int kVec, class T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, kVec>& vector) {
  if constexpr (kVec == 1) {
    *to = vector.value[0];
  } else {
    typename WordOf<sizeof(vector)>::type word;
    memcpy(&word, &vector, sizeof(vector));
    __stwb(reinterpret_cast<typename WordOf<sizeof(vector)>::type*>(to), word);
  }
}

// The same for shared memory, which store_vector's instruction cannot address.
template <int kVec, class T>
__device__ __forceinline__ void store_shared(T* to, const Vector<T, kVec>& vector) {
  using Word = typename WordOf<sizeof(vector)>::type;
  Word word;
  memcpy(&word, &vector, sizeof(vector));
  *reinterpret_cast<Word*>(to) = word;
}

// The number of elements of the widest of these types in a 16-byte vector.
template <class... Types>
constexpr int vector_width() {
  std::size_t widest = 1;
  ((widest = sizeof(Types) > widest ? sizeof(Types) : widest), ...);
  return static_cast<int>(16 / widest);
}

}  // namespace causeway::kernels::cuda
