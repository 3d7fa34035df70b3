// The gradients of norms for rows of exactly one vector per thread of a block. Bytes: x and the
// gradient read once, x's gradient written once; bound by memory: 16384 x 4096 bf16 reaches 79% of
// its peak. The next rows are copied to shared memory while the current one is reduced.
#pragma once

#include "causeway/kernels/norm/norm_gradient.cuh"

namespace causeway::kernels::cuda {

// Starts an asynchronous copy of 16 bytes from device to shared memory.
__device__ __forceinline__ void copy_to_shared(void* to, const void* from) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}

// A ring buffer in shared memory for rows that are loaded while others are processed. Each of the
// kThreadsOfRow threads loads one vector per array and reads only its own, so no barrier is needed.
template <int kArrays, int kThreadsOfRow, class T>
struct RowRing {
  static constexpr int kStages = 2;
  static constexpr int kVec = vector_width<T>();
  Vector<T, kVec> memory[kStages][kArrays][kThreadsOfRow];

  // Starts loading row `row` of the arrays into a stage; does nothing beyond the last row.
  template <class... Arrays>
  __device__ __forceinline__ void load(int stage, std::int64_t row, std::int64_t n_rows,
                                       const Arrays*... arrays) {
    static_assert(sizeof...(Arrays) == kArrays);
    const std::int64_t at = (row * kThreadsOfRow + threadIdx.x) * kVec;
    int array = 0;
    if (row < n_rows) (copy_to_shared(&memory[stage][array++][threadIdx.x], arrays + at), ...);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // Waits for the oldest stage.
  __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
  }
  __device__ __forceinline__ Vector<T, kVec> vector(int stage, int array) const {
    return memory[stage][array][threadIdx.x];
  }
};

template <int kVec>
__device__ __forceinline__ void store_values(float* to, const Values<float, kVec>& values) {
#pragma unroll
  for (int i = 0; i < kVec; i += 4) {
    store_vector(to + i, Vector<float, 4>{{values.value[i], values.value[i + 1],
                                           values.value[i + 2], values.value[i + 3]}});
  }
}

// One vector per thread. The deviations from the mean and the scaled gradients stay in registers
// between the two passes, while the next rows are loaded.
template <int kWarps, class T>
__global__ void __launch_bounds__(kWarps * 32, 32 / kWarps)
    norm_gradient_block_kernel(NormGradientRows<T> rows) {
  using C = Compute<T>;
  using Ring = RowRing<2, kWarps * 32, T>;
  constexpr int kVec = vector_width<T>();
  constexpr int kColumns = kWarps * 32 * kVec;
  extern __shared__ __align__(16) unsigned char ring_memory[];
  auto& ring = *reinterpret_cast<Ring*>(ring_memory);
  __shared__ RowSums<C> memory[2][kWarps];
  const int column = static_cast<int>(threadIdx.x) * kVec;
  const std::int64_t step = gridDim.x;
#pragma unroll
  for (int k = 0; k < Ring::kStages; ++k) {
    ring.load(k, blockIdx.x + k * step, rows.n_rows, rows.x, rows.gradient);
  }
  Vector<T, kVec> weight;
#pragma unroll
  for (int i = 0; i < kVec; ++i) weight.value[i] = T(C(1));
  if (rows.weight != nullptr) weight = load_vector<kVec>(rows.weight + column);
  Values<C, kVec> weight_sums = {};
  Values<C, kVec> bias_sums = {};
  C next_mean = rows.centred ? rows.mean[blockIdx.x] : C(0);
  C next_rstd = rows.rstd[blockIdx.x];
  int stage = 0;
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < rows.n_rows; row += step, turn ^= 1) {
    const C mean = next_mean;
    const C rstd = next_rstd;
    if (row + step < rows.n_rows) {
      if (rows.centred) next_mean = rows.mean[row + step];
      next_rstd = rows.rstd[row + step];
    }
    ring.wait();
    auto distance = unpack(ring.vector(stage, 0));
    const auto g = unpack(ring.vector(stage, 1));
    ring.load(stage, row + Ring::kStages * step, rows.n_rows, rows.x, rows.gradient);
    stage = stage + 1 == Ring::kStages ? 0 : stage + 1;
    auto scaled = unpack(weight);
    RowSums<C> sums = {C(0), C(0)};
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      distance.value[i] -= mean;
      scaled.value[i] *= g.value[i];
      sums.flat += scaled.value[i];
      sums.along += scaled.value[i] * distance.value[i];
      weight_sums.value[i] += g.value[i] * (distance.value[i] * rstd);
      bias_sums.value[i] += g.value[i];
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      sums = RowSums<C>::combine(sums, shuffle_xor(sums, mask));
    }
    if (threadIdx.x % 32 == 0) memory[turn][threadIdx.x / 32] = sums;
    __syncthreads();
    sums = memory[turn][threadIdx.x % kWarps];
#pragma unroll
    for (int mask = kWarps / 2; mask > 0; mask /= 2) {
      sums = RowSums<C>::combine(sums, shuffle_xor(sums, mask));
    }
    const C share = -rstd * (C(1) / C(kColumns));
    const C flat = rows.centred ? sums.flat * share : C(0);
    const C along = sums.along * share * rstd * rstd;
    Values<C, kVec> result;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      result.value[i] = distance.value[i] * along + (scaled.value[i] * rstd + flat);
    }
    const std::int64_t at = row * kColumns + column;
    if (rows.sum_gradient != nullptr) {
      const auto more = unpack(load_vector<kVec>(rows.sum_gradient + at));
#pragma unroll
      for (int i = 0; i < kVec; ++i) result.value[i] += more.value[i];
    }
    store_vector(rows.x_gradient + at, pack<T>(result));
  }
  if (rows.partial == nullptr) return;
  C* to = rows.partial + std::int64_t{blockIdx.x} * 2 * kColumns + column;
  store_values(to, weight_sums);
  store_values(to + kColumns, bias_sums);
}

template <int kWarps, class T>
bool gradient_with(StreamView stream, NormGradientRows<T> rows, T* weight_gradient,
                   T* bias_gradient) {
  constexpr int kThreadsOfRow = kWarps * 32;
  if (rows.n_columns != kThreadsOfRow * vector_width<T>()) return false;
  const std::int64_t blocks =
      std::min(kProcessors * 1024 / kThreadsOfRow, (rows.n_rows + kLeastRows - 1) / kLeastRows);
  const Buffer space = allocate_partial(stream, rows, blocks,
                                        weight_gradient != nullptr || bias_gradient != nullptr);
  launch({"norm_gradient", stream, dim3(static_cast<unsigned>(blocks)), dim3(kThreadsOfRow),
          sizeof(RowRing<2, kThreadsOfRow, T>)},
         norm_gradient_block_kernel<kWarps, T>, rows);
  add_partials(stream, rows, blocks, weight_gradient, bias_gradient);
  return true;
}

// Returns false if the rows have another length.
template <class T>
bool norm_gradient_by_blocks(StreamView stream, const NormGradientRows<T>& rows, T* weight_gradient,
                             T* bias_gradient) {
  return gradient_with<4>(stream, rows, weight_gradient, bias_gradient) ||
         gradient_with<8>(stream, rows, weight_gradient, bias_gradient) ||
         gradient_with<16>(stream, rows, weight_gradient, bias_gradient);
}

}  // namespace causeway::kernels::cuda
