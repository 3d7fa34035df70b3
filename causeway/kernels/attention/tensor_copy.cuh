// Barriers in shared memory (mbarrier) and copies of boxes by the tensor copy engine (TMA). A file
// that uses them is compiled for sm_90 or newer.
#pragma once

#include "causeway/kernels/attention/mma.cuh"

#include <cuda.h>

#include <cstdint>

namespace causeway::kernels::cuda {

__device__ __forceinline__ void init_barrier(std::uint64_t* barrier, int n_arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(n_arrivals)
               : "memory");
}

// Makes new barriers visible to the copy engine; a barrier of the block must follow.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :
               : "r"(shared_address(barrier))
               : "memory");
}

// Arrives; the phase ends only after so many bytes have also been copied.
__device__ __forceinline__ void arrive_expecting(std::uint64_t* barrier, int n_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(n_bytes)
               : "memory");
}

// Waits for the end of the phase of that parity; phases alternate, the first is 0. A wait of about
// a second means a lost copy: it ends the kernel with an error instead of blocking the device. The
// loop is in the assembler's hands, so that the compiler sees no divergent code.
__device__ __forceinline__ void wait_for(std::uint64_t* barrier, int parity) {
  asm volatile(
      "{.reg .pred ended, late; .reg .u32 count; mov.u32 count, 0;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@ended bra done;\n"
      "add.u32 count, count, 1; setp.gt.u32 late, count, 0x400000; @late trap;\n"
      "bra again;\n"
      "done: }"
      :
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
}

// Starts copying the box at element x of row y of head z of entry w to shared memory, which counts
// on `barrier`. Elements outside the tensor are zeros, and count too.
__device__ __forceinline__ void load_box(void* to, const CUtensorMap& tensor,
                                         std::uint64_t* barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];"
      :
      : "r"(shared_address(to)), "l"(&tensor), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z),
        "r"(w)
      : "memory");
}

// Makes this thread's writes to shared memory visible to the copy engine and the tensor cores; a
// barrier must follow.
__device__ __forceinline__ void publish_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace causeway::kernels::cuda
