// Products of matrices with vectors that all blocks of decode_model share.
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

// How the warps of a block share a matrix whose rows have `in` elements: a row belongs to parts()
// warps, and slots() rows are multiplied at a time.
template <int kElements>
class RowSplit {
 public:
  __device__ __forceinline__ explicit RowSplit(int in) {
    const int warp = Place().warp;
    const int parts = (in + kElements - 1) / kElements;
    bits_ = static_cast<unsigned>(parts | kWarps / parts << 8 | warp / parts << 16 |
                                  warp % parts << 24);
  }
  __device__ __forceinline__ int parts() const { return static_cast<int>(bits_ & 0xff); }
  __device__ __forceinline__ int slots() const { return static_cast<int>(bits_ >> 8 & 0xff); }
  // Of this warp; beyond the others for a warp that has none.
  __device__ __forceinline__ int slot() const { return static_cast<int>(bits_ >> 16 & 0xff); }
  // The first element of this warp's part of a row.
  __device__ __forceinline__ int begin() const { return static_cast<int>(bits_ >> 24) * kElements; }

 private:
  static_assert(kWarps < 256);
  unsigned bits_;  // four numbers below 256
};

// The matrix of a product: (out, in), or with gates (2 out, in), where row i belongs to row out +
// i.
template <int kElements>
struct Factor {
  const DecodeMatrix* matrix;
  int in;
  int out;
  bool gated;
  RowSplit<kElements> split;
};

// Products of matrices with vectors, one after the other, divided over all blocks. The rows of the
// next product are loaded while this one ends, so that they arrive while the block waits for its
// vector. The code is one copy for all products: what a step executes must fit the
// instruction cache.
template <class W, class TileShape>
class Products {
 public:
  static constexpr int kRows = TileShape::kRows;
  static constexpr int kScratch = 2 * kRows * kWarps;  // floats of shared memory
  using Part = RowPart<W, TileShape::kElements>;
  using Factor = cuda::Factor<TileShape::kElements>;

  // Starts to load the rows of the first product.
  __device__ __forceinline__ explicit Products(const Factor& first) : factor_(first) {
    start(first);
    load_rows();
    load_scale();
  }

  // Multiplies with x, which is in shared memory as Part::store_pair writes it, and calls
  // store(row, value, up). Scratch memory has kScratch floats; between two calls the block needs a
  // barrier. `next` is the factor of the next product; one with no rows ends the sequence. All
  // threads of the block must call this.
  template <class Store>
  __device__ __forceinline__ void run(float* x, float* scratch, const Factor& next,
                                      const Store& store) {
    const Place at;
    const typename Part::Operand own = Part::operand_of(x + factor_.split.begin(), at.lane);
    bool last = false;
#pragma unroll 1
    for (int turn = 0; !last; turn ^= 1) {
      const Factor now = factor_;
      float value = Part::dot(rows_, n_rows_, own, at.lane);
      const int row = own_row();
      const int advance = now.gated ? distance_ : kRows * distance_;
      first_ += advance;
      row_ += advance;
      last = first_ >= now.out;
      if (!last) load_rows();
      if (now.split.parts() > 1) {
        value = sum_parts(now.split, value, scratch + turn * kRows * kWarps);
      }
      value = value * scale_ + bias_;
      const float up = now.gated ? __shfl_down_sync(0xffffffffu, value, 1) : 0.0f;
      if (at.lane < (now.gated ? 1 : kRows) && row < now.out && now.split.begin() == 0) {
        store(row, value, up);
      }
      if (!last) load_scale();
    }
    // After the stores, for which other blocks wait.
    start(next);
    load_rows();
    load_scale();
  }

 private:
  // The row of this lane, or of its gate.
  __device__ __forceinline__ int own_row() const {
    return row_ + Place().lane * (factor_.gated ? factor_.out : distance_);
  }

  __device__ __forceinline__ void start(const Factor& factor) {
    const Place at;
    factor_ = factor;
    const RowSplit<TileShape::kElements>& split = factor.split;
    first_ = at.block;
    distance_ = split.slots() * at.n_blocks;
    row_ = split.slot() < split.slots() ? split.slot() * at.n_blocks + at.block : factor.out;
  }

  __device__ __forceinline__ void load_rows() {
    const Place at;
    const int distance = factor_.gated ? factor_.out : distance_;
    const int end = factor_.gated ? 2 * factor_.out : factor_.out;
    const int begin = factor_.split.begin();
    n_rows_ = 0;
    if (row_ >= factor_.out) return;
    const auto* weights =
        static_cast<const W*>(factor_.matrix->weight) + std::int64_t{row_} * factor_.in + begin;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      if (row_ + k * distance >= end) break;
      n_rows_ = k + 1;
      rows_[k].load(weights + std::int64_t{k} * distance * factor_.in, factor_.in - begin, at.lane);
    }
  }
  // Follows the use of the scale before, which needs no copy then: a copy of a register waits for
  // the load into it.
  __device__ __forceinline__ void load_scale() {
    scale_ = 1;
    bias_ = 0;
    if (Place().lane >= n_rows_) return;
    const int row = own_row();
    if (factor_.matrix->scales != nullptr) scale_ = factor_.matrix->scales[row];
    if (factor_.matrix->bias != nullptr) bias_ = factor_.matrix->bias[row];
  }
  // The sum of the products of the parts of this lane's row, in order. Calls that follow each other
  // need other scratch memory.
  __device__ __forceinline__ static float sum_parts(const RowSplit<TileShape::kElements>& split,
                                                    float value, float* scratch) {
    const Place at;
    if (at.lane < kRows) scratch[at.lane * kWarps + at.warp] = value;
    __syncthreads();
    float sum = 0;
    if (at.lane >= kRows) return sum;
#pragma unroll 4
    for (int i = 0; i < split.parts(); ++i) {
      sum += scratch[at.lane * kWarps + min(split.slot() * split.parts() + i, kWarps - 1)];
    }
    return sum;
  }

  Factor factor_;
  int first_;     // row of the block
  int row_;       // of this warp
  int distance_;  // between the rows of a warp
  int n_rows_;
  Part rows_[kRows] = {};
  float scale_;
  float bias_;
};

}  // namespace causeway::kernels::cuda
