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

// The sum over the block, in all threads. Calls that follow each other need other scratch memory.
__device__ __forceinline__ float sum_block(float value, float* scratch) {
  value = sum_warp(value);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) sum += scratch[i];
  return sum;
}

// A product of a matrix with x, divided over all blocks. A row belongs to `parts` warps of a block,
// and a warp computes two rows at a time; with gates, a row and its gate. The constructor starts to
// load the first two rows of this warp.
template <class W>
class Product {
 public:
  __device__ __forceinline__ Product(const DecodeMatrix& matrix, int in, int out, bool gated)
      : matrix_(matrix), in_(in), out_(out), gated_(gated) {
    parts_ = (in + RowPart<W>::kElements - 1) / RowPart<W>::kElements;
    const Place at;
    const int rows_at_once = kWarps / parts_;
    slot_ = at.warp / parts_;
    begin_ = at.warp % parts_ * RowPart<W>::kElements;
    first_ = at.block;
    row_ = slot_ < rows_at_once ? slot_ * at.n_blocks + at.block : out_;
    step_ = rows_at_once * at.n_blocks;
    load();
  }

  // x is in shared memory, in the order of place_of; scratch has 2 * kWarps floats. All threads of
  // the block must call this.
  template <class Store>
  __device__ __forceinline__ void run(const float* x, float* scratch, const Store& store) {
    const Place at;
    while (first_ < out_) {
      float values[2];
      RowPart<W>::dot(parts_of_rows_, x + begin_, in_ - begin_, at.lane, values);
      const int row = row_;
      const float scales[2] = {scales_[0], scales_[1]};
      const float biases[2] = {biases_[0], biases_[1]};
      const int advance = gated_ ? step_ : 2 * step_;
      first_ += advance;
      row_ += advance;
      load();
      if (parts_ > 1) sum_parts(values, scratch);
      if (at.lane != 0 || row >= out_ || begin_ != 0) continue;
      values[0] = values[0] * scales[0] + biases[0];
      values[1] = values[1] * scales[1] + biases[1];
      store(row, values[0], values[1]);
      if (!gated_ && row + step_ < out_) store(row + step_, values[1], 0.0f);
    }
  }

 private:
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int row = row_ + k * (gated_ ? out_ : step_);
      if (row_ >= out_ || (!gated_ && row >= out_)) continue;
      const auto* weights = static_cast<const W*>(matrix_.weight) + std::int64_t{row} * in_;
      parts_of_rows_[k].load(weights + begin_, in_ - begin_, Place().lane);
      scales_[k] = matrix_.scales != nullptr ? matrix_.scales[row] : 1.0f;
      biases_[k] = matrix_.bias != nullptr ? matrix_.bias[row] : 0.0f;
    }
  }
  // Adds the products of the parts of each row, in order.
  __device__ __forceinline__ void sum_parts(float (&values)[2], float* scratch) const {
    const Place at;
    __syncthreads();
    if (at.lane == 0) {
      scratch[at.warp] = values[0];
      scratch[kWarps + at.warp] = values[1];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      values[k] = 0;
      for (int i = 0; i < parts_; ++i) {
        values[k] += scratch[k * kWarps + min(slot_ * parts_ + i, kWarps - 1)];
      }
    }
  }

  DecodeMatrix matrix_;
  int in_;
  int out_;
  bool gated_;
  int parts_;
  int slot_;
  int begin_;  // of this warp's part of a row
  int first_;
  int row_;
  int step_;
  RowPart<W> parts_of_rows_[2] = {};
  float scales_[2] = {1, 1};
  float biases_[2] = {0, 0};
};

}  // namespace causeway::kernels::cuda
