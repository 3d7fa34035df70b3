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

// What a warp multiplies at once: kRows rows, kElements of each. A block of GPT-2 124M on 132
// multiprocessors has 6 to 24 rows of a matrix.
template <int kElementCount, int kRowCount>
struct Tile {
  static constexpr int kElements = kElementCount;
  static constexpr int kRows = kRowCount;
};
using NarrowTile = Tile<512, 3>;
using WideTile = Tile<1024, 2>;
// Of the head's product: twice the rows of 8-bit weights take the registers of 16-bit ones, and
// half the rounds.
template <class W, class TileShape>
using HeadTile =
    Tile<TileShape::kElements, sizeof(W) == 1 ? 2 * TileShape::kRows : TileShape::kRows>;

// Starts to copy `bytes`, a multiple of 16, to the L2 cache.
__device__ __forceinline__ void prefetch_bytes(const void* from, int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

// Starts to copy this block's rows of a matrix to the L2 cache: those from the `begin`-th on and
// before the `end`-th.
template <class W>
__device__ __forceinline__ void prefetch_rows(const DecodeMatrix& matrix, int in, int out,
                                              bool gated, int begin, int end) {
  const Place at;
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += kBlock) {
    const int row = i * at.n_blocks + at.block;
    if (row >= out) return;
    const auto* weights = static_cast<const W*>(matrix.weight) + std::int64_t{row} * in;
    const int bytes = in * static_cast<int>(sizeof(W));
    prefetch_bytes(weights, bytes);
    if (gated) prefetch_bytes(weights + std::int64_t{out} * in, bytes);
  }
}

// A product of a matrix with x, divided over all blocks. A row belongs to `parts` warps of a block,
// and a warp computes a few rows at a time; with gates, a row and its gate. The constructor starts
// to load the first rows of this warp. Lane k completes the k-th of them, and so do the lanes after
// it at distances of kRows, each for another copy of the result. The matrix must outlive this.
template <class W, class TileShape>
class Product {
 public:
  static constexpr int kRows = TileShape::kRows;
  using Part = RowPart<W, TileShape::kElements>;

  __device__ __forceinline__ Product(const DecodeMatrix& matrix, int in, int out, bool gated)
      : matrix_(&matrix), in_(in), out_(out), gated_(gated) {
    parts_ = (in + Part::kElements - 1) / Part::kElements;
    const Place at;
    const int rows_at_once = kWarps / parts_;
    slot_ = at.warp / parts_;
    begin_ = at.warp % parts_ * Part::kElements;
    first_ = at.block;
    row_ = slot_ < rows_at_once ? slot_ * at.n_blocks + at.block : out_;
    step_ = rows_at_once * at.n_blocks;
    load();
  }

  // Rows that a block computes at once.
  __device__ __forceinline__ static int rows_per_round(int in, bool gated) {
    const int parts = (in + Part::kElements - 1) / Part::kElements;
    return kWarps / parts * (gated ? 1 : kRows);
  }

  // Calls store(copy, row, value, up); the values of all copies are the same, and there are at
  // least kDecodeCopies. x is in shared memory, in the order of place_of; scratch has
  // kProductScratch floats, and serves one product at a time. Rows of the round `ahead` rounds
  // later are copied to the L2 cache, unless `ahead` is 0. All threads of the block must call this.
  template <class Store>
  __device__ __forceinline__ void run(const float* x, float* scratch, const Store& store,
                                      int ahead = 0) {
    const Place at;
    const int per_round = rows_per_round(in_, gated_);
    int later = ahead * per_round;
    for (int turn = 0; first_ < out_; turn ^= 1) {
      if (ahead > 0) prefetch_rows<W>(*matrix_, in_, out_, gated_, later, later + per_round);
      later += per_round;
      float values[kRows];
      Part::dot(parts_of_rows_, n_rows_, x + begin_, at.lane, values);
      const int row = own_row();
      const float scale = scale_;
      const float bias = bias_;
      const int advance = gated_ ? step_ : kRows * step_;
      first_ += advance;
      row_ += advance;
      load();
      float value = parts_ > 1 ? sum_parts(values, scratch + turn * kRows * kWarps) : values[0];
      if (parts_ == 1) {
#pragma unroll
        for (int k = 1; k < kRows; ++k) value = own() == k ? values[k] : value;
      }
      value = value * scale + bias;
      const float up = gated_ ? __shfl_down_sync(0xffffffffu, value, 1) : 0.0f;
      if ((!gated_ || own() == 0) && row < out_ && begin_ == 0) {
        store(at.lane / kRows, row, value, up);
      }
    }
  }

 private:
  static_assert(kDecodeCopies * kRows <= 32);
  // Which of the rows this lane completes.
  __device__ __forceinline__ static int own() { return Place().lane % kRows; }
  // The row of this lane, or of its gate.
  __device__ __forceinline__ int own_row() const {
    return gated_ ? row_ + own() * out_ : row_ + own() * step_;
  }

  __device__ __forceinline__ void load() {
    const Place at;
    n_rows_ = 0;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int row = gated_ ? row_ + k * out_ : row_ + k * step_;
      if (row_ >= out_ || (gated_ ? k > 1 : row >= out_)) continue;
      n_rows_ = k + 1;
      const auto* weights = static_cast<const W*>(matrix_->weight) + std::int64_t{row} * in_;
      parts_of_rows_[k].load(weights + begin_, in_ - begin_, at.lane);
    }
    scale_ = 1;
    bias_ = 0;
    if (own() >= n_rows_) return;
    const int row = own_row();
    if (matrix_->scales != nullptr) scale_ = matrix_->scales[row];
    if (matrix_->bias != nullptr) bias_ = matrix_->bias[row];
  }
  // The sum of the products of the parts of this lane's row, in order. Calls that follow each other
  // need other scratch memory.
  __device__ __forceinline__ float sum_parts(const float (&values)[kRows], float* scratch) const {
    const Place at;
    if (at.lane == 0) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) scratch[k * kWarps + at.warp] = values[k];
    }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < parts_; ++i) {
      sum += scratch[own() * kWarps + min(slot_ * parts_ + i, kWarps - 1)];
    }
    return sum;
  }

  const DecodeMatrix* matrix_;
  int in_;
  int out_;
  bool gated_;
  int parts_;
  int slot_;
  int begin_;  // of this warp's part of a row
  int first_;
  int row_;
  int step_;
  int n_rows_;
  Part parts_of_rows_[kRows] = {};
  float scale_;
  float bias_;
};

// Floats of shared memory for the sums of a product.
template <class TileShape>
inline constexpr int kProductScratch = 2 * TileShape::kRows* kWarps;

}  // namespace causeway::kernels::cuda
