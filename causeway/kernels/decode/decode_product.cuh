// A product of a matrix with a vector that all blocks of decode_model share.
#pragma once

#include "causeway/kernels/decode/decode_model.h"
#include "causeway/kernels/decode/row_part.cuh"

#include <cstdint>

namespace causeway::kernels::cuda {

inline constexpr int kWarps = 16;  // of a block; one block per multiprocessor
inline constexpr int kBlock = 32 * kWarps;

struct Place {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int warp = static_cast<int>(threadIdx.x) / 32;
  int block = static_cast<int>(blockIdx.x);
  int n_blocks = static_cast<int>(gridDim.x);
};

__device__ __forceinline__ float sum_block(float value, float* scratch) {
  value = sum_warp(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += scratch[i];
  return sum;
}

// A product of a matrix with x, divided over all blocks. A row belongs to `parts` warps of a block.
// The constructor starts to load the first row of this warp.
template <class W>
class Product {
 public:
  // The residual, if any, is added to the result.
  __device__ __forceinline__ Product(const DecodeMatrix& matrix, int in, int out, bool gated,
                                     const float* residual)
      : matrix_(matrix), residual_(residual), in_(in), out_(out), gated_(gated) {
    parts_ = (in + RowPart<W>::kElements - 1) / RowPart<W>::kElements;
    const Place at;
    const int rows_at_once = kWarps / parts_;
    slot_ = at.warp / parts_;
    begin_ = at.warp % parts_ * RowPart<W>::kElements;
    first_ = at.block;
    row_ = slot_ < rows_at_once ? slot_ * at.n_blocks + at.block : out_;
    step_ = rows_at_once * at.n_blocks;
    load(row_);
  }

  // x is in shared memory, in the order of place_of. All threads of the block must call this.
  template <class Store>
  __device__ __forceinline__ void run(const float* x, float* scratch, const Store& store) {
    using Part = RowPart<W>;
    const Place at;
    for (; first_ < out_; first_ += step_, row_ += step_) {
      const int row = row_;
      const bool live = row < out_;
      const float scale = scale_;
      const float bias = bias_;
      const float residual = added_;
      float value = live ? part_.dot(x + begin_, at.lane) : 0.0f;
      float up = 0;
      if (gated_ && live) {
        Part second;
        second.load(weights(row + out_), in_ - begin_, at.lane);
        up = second.dot(x + begin_, at.lane);
      }
      load(row + step_);
      if (parts_ > 1) {
        value = sum_parts(value, scratch);
        if (gated_) up = sum_parts(up, scratch);
      }
      if (at.lane != 0 || !live || begin_ != 0) continue;
      if (gated_ && matrix_.scales != nullptr) up *= matrix_.scales[row + out_];
      if (gated_ && matrix_.bias != nullptr) up += matrix_.bias[row + out_];
      store(row, value * scale + bias, up, residual);
    }
  }

 private:
  __device__ __forceinline__ const W* weights(int row) const {
    return static_cast<const W*>(matrix_.weight) + std::int64_t{row} * in_ + begin_;
  }
  __device__ __forceinline__ void load(int row) {
    if (row >= out_) return;
    part_.load(weights(row), in_ - begin_, Place().lane);
    scale_ = matrix_.scales != nullptr ? matrix_.scales[row] : 1.0f;
    bias_ = matrix_.bias != nullptr ? matrix_.bias[row] : 0.0f;
    added_ = residual_ != nullptr ? __ldcg(residual_ + row) : 0.0f;
  }
  // Adds the products of a row's parts, in order.
  __device__ __forceinline__ float sum_parts(float value, float* scratch) const {
    const Place at;
    __syncthreads();
    if (at.lane == 0) scratch[at.warp] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < parts_; ++i) sum += scratch[min(slot_ * parts_ + i, kWarps - 1)];
    return sum;
  }

  DecodeMatrix matrix_;
  const float* residual_;
  int in_;
  int out_;
  bool gated_;
  int parts_;
  int slot_;
  int begin_;  // of this warp's part of a row
  int first_;
  int row_;
  int step_;
  RowPart<W> part_;
  float scale_ = 1;
  float bias_ = 0;
  float added_ = 0;
};

}  // namespace causeway::kernels::cuda
