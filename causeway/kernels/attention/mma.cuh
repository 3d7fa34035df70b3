// Building blocks of attention: tensor-core products of 16x16 by 16x8 with f32 accumulation (mma),
// loads of their operands from shared memory (ldmatrix), and asynchronous copies to shared memory
// (cp.async). sm_80 and newer; builds for older GPUs compile but do not use it.
//
// Fragment layout for lane = 4 * g + t: A holds rows g, g + 8 and columns 2t, 2t + 1 (and the
// same + 8); B holds rows 2t, 2t + 1 (and + 8) of column g; the accumulators hold rows g, g + 8 of
// columns 2t, 2t + 1. Products over eight columns have no "+ 8" part.
#pragma once

#include "causeway/kernels/half_device.h"

#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cuda {

__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return dynamic_shared_memory;
}

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// sum += a b.
template <class T>
__device__ __forceinline__ void multiply(float (&sum)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

// The same over eight columns of A instead of sixteen.
template <class T>
__device__ __forceinline__ void multiply_eight(float (&sum)[4], const std::uint32_t (&a)[4],
                                               std::uint32_t b) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, bf16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
  }
#endif
}

// Loads four 8x8 matrices of 16-bit values: lane 8 * m + r passes the address of row r of matrix m,
// and receives columns 2t and 2t + 1 of row g of each matrix.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// The same for the transposed matrices.
__device__ __forceinline__ void load_transposed(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

// Loads only the first two matrices; addresses of lanes from 16 on are ignored.
__device__ __forceinline__ void load_two_matrices(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}

__device__ __forceinline__ void load_two_transposed(std::uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(shared_address(row))
               : "memory");
}

// Writes two 8x8 matrices transposed: `low` and `high` have columns 2t and 2t + 1 of row g of each;
// lane 8 * m + r passes the address that row r of the transposed matrix m goes to. Addresses of
// lanes from 16 on are ignored.
__device__ __forceinline__ void store_two_transposed(void* row, std::uint32_t low,
                                                     std::uint32_t high) {
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :
               : "r"(shared_address(row)), "r"(low), "r"(high)
               : "memory");
#elif __CUDA_ARCH__ >= 800
  const std::uint32_t words[2] = {low, high};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    std::uint32_t word;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(word) : "r"(words[i]));
    const std::uint32_t to =
        __shfl_sync(0xffffffffu, shared_address(row), 8 * i + threadIdx.x % 32 / 4);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + 4 * (threadIdx.x % 4)), "r"(word) : "memory");
  }
#endif
}

// Copies 16 bytes to shared memory, or zeros if `there` is false; `from` must be readable in both
// cases.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
               : "memory");
#endif
}

__device__ __forceinline__ void end_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's copies except the last kLeft groups.
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
#endif
}

// 2^x on the special-function unit; 2^-inf is 0.
__device__ __forceinline__ float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Rounds two values into one register, the first in the low half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  std::uint32_t word;
  if constexpr (std::is_same_v<T, bf16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    memcpy(&word, &pair, sizeof(word));
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    memcpy(&word, &pair, sizeof(word));
  }
  return word;
}

template <class T>
__device__ __forceinline__ float2 unpack(std::uint32_t word) {
  T values[2];
  memcpy(values, &word, sizeof(word));
  return {static_cast<float>(values[0]), static_cast<float>(values[1])};
}

}  // namespace causeway::kernels::cuda
