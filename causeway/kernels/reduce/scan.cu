// Cumulative sums along rows in three steps: each piece of a row is summed, the sums of the pieces
// are scanned, and each piece is scanned with the offset of the pieces before it. The order and
// thus the bits are fixed, unlike in a single-pass scan with decoupled look-back. Bytes: the input
// twice, the output once; once each if a row is one piece.
#include "causeway/kernels/reduce/reduce_block.cuh"
#include "causeway/kernels/reduce/reducers_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/reduce/reduce.h"
#include "causeway/runtime/launch.h"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kPerThread = 16;
constexpr std::int64_t kPiece = kThreads * kPerThread;

// Each thread's exclusive prefix sum of the block's values, and their total.
template <class Acc>
__device__ __forceinline__ Acc scan_block(Acc value, Acc& total) {
  __shared__ Acc warps[kThreads / 32];
  __syncthreads();  // the previous use of `warps` is over
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Acc inclusive = value;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Acc before = __shfl_up_sync(0xffffffffu, inclusive, distance);
    if (lane >= distance) inclusive += before;
  }
  if (lane == 31) warps[threadIdx.x / 32] = inclusive;
  __syncthreads();
  Acc offset = 0;
  total = 0;
#pragma unroll
  for (int warp = 0; warp < kThreads / 32; ++warp) {
    if (warp == static_cast<int>(threadIdx.x) / 32) offset = total;
    total += warps[warp];
  }
  const Acc exclusive = __shfl_up_sync(0xffffffffu, inclusive, 1);
  return offset + (lane == 0 ? Acc(0) : exclusive);
}

// Scans the totals of the pieces, one block per row.
template <class Acc>
__global__ void __launch_bounds__(kThreads) scan_totals_kernel(Acc* totals, std::int64_t n_pieces) {
  Acc* row = totals + blockIdx.x * n_pieces;
  Acc carry = 0;
  for (std::int64_t first = 0; first < n_pieces; first += kThreads) {
    const std::int64_t at = first + threadIdx.x;
    Acc total;
    const Acc before = scan_block(at < n_pieces ? row[at] : Acc(0), total);
    if (at < n_pieces) row[at] = carry + before;
    carry += total;
  }
}

template <class T, class Acc>
__global__ void __launch_bounds__(kThreads)
    piece_totals_kernel(const T* in, Acc* totals, std::int64_t n_columns, std::int64_t n_pieces) {
  const std::int64_t row = blockIdx.x / n_pieces;
  const std::int64_t begin = blockIdx.x % n_pieces * kPiece;
  const std::int64_t end = begin + kPiece < n_columns ? begin + kPiece : n_columns;
  const reducers::Sum<T> reducer;
  const Acc total = reduce_block(
      reducer, reduce_strided<1>(reducer, in + row * n_columns, begin, end, threadIdx.x, kThreads));
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

// Scans a piece. Elements pass through shared memory, so that each thread owns adjacent elements
// while memory accesses are coalesced.
template <class T, class Result, class Acc>
__global__ void __launch_bounds__(kThreads)
    scan_pieces_kernel(const T* in, Result* out, const Acc* offsets, std::int64_t n_columns,
                       std::int64_t n_pieces) {
  __shared__ Acc
      tile[kPiece + kPiece / kPerThread];  // padded by one per thread against bank conflicts
  const std::int64_t row = blockIdx.x / n_pieces;
  const std::int64_t begin = blockIdx.x % n_pieces * kPiece;
  const std::int64_t left = n_columns - begin;
  const int count = static_cast<int>(left < kPiece ? left : kPiece);
  const T* from = in + row * n_columns + begin;
  for (int i = threadIdx.x; i < kPiece; i += kThreads) {
    tile[i + i / kPerThread] = i < count ? static_cast<Acc>(from[i]) : Acc(0);
  }
  __syncthreads();
  Acc* own = tile + threadIdx.x * (kPerThread + 1);
  Acc sum = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) sum += own[i];
  Acc total;
  Acc running = scan_block(sum, total);
  if (offsets != nullptr) running += offsets[blockIdx.x];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    running += own[i];
    own[i] = running;
  }
  __syncthreads();
  Result* to = out + row * n_columns + begin;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    to[i] = static_cast<Result>(tile[i + i / kPerThread]);
  }
}

}  // namespace

void cumulative_sum(StreamView stream, const Operand& in, const Operand& out, std::int64_t n_rows,
                    std::int64_t n_columns) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = reducers::SumType<T>;
    using Result = reducers::SumResult<T>;
    const std::int64_t n_pieces = (n_columns + kPiece - 1) / kPiece;
    const dim3 grid(static_cast<unsigned>(n_rows * n_pieces));
    const auto* from = static_cast<const T*>(in.data);
    Buffer totals;
    if (n_pieces > 1) {
      totals = pool_of(stream.device())
                   .allocate(static_cast<std::size_t>(n_rows * n_pieces) * sizeof(Acc), stream);
      auto* sums = reinterpret_cast<Acc*>(totals.data());
      launch({"cumulative_sum", stream, grid, dim3(kThreads)}, piece_totals_kernel<T, Acc>, from,
             sums, n_columns, n_pieces);
      launch({"cumulative_sum", stream, dim3(static_cast<unsigned>(n_rows)), dim3(kThreads)},
             scan_totals_kernel<Acc>, sums, n_pieces);
    }
    launch({"cumulative_sum", stream, grid, dim3(kThreads)}, scan_pieces_kernel<T, Result, Acc>,
           from, static_cast<Result*>(out.data), reinterpret_cast<const Acc*>(totals.data()),
           n_columns, n_pieces);
  });
}

}  // namespace causeway::kernels::cuda
