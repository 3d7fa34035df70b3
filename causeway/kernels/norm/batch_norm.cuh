// Sums over the channels of a contiguous (images, channels, pixels) cube in two steps of fixed
// order: pieces of a channel by blocks, then the pieces. Bytes: the inputs once; bound by memory. A
// channel's pixels are read as runs; if runs are short, the cube is treated as a matrix with one
// row per image and summed by columns.
#pragma once

#include "causeway/kernels/reduce/reduce.cuh"
#include "causeway/kernels/rows.cuh"

namespace causeway::kernels::cuda {

inline constexpr std::int64_t kShortRun = 16;  // pixels; shorter runs are summed as columns

// `Sums` defines the reduction of a channel: Acc, none(), combine(a, b), and read(channel, at, n),
// which reduces the elements at the first n of kGroup flat positions. When lanes combine, only the
// first one's result is used.
template <class Sums>
__global__ void __launch_bounds__(kThreads)
    sum_runs_kernel(Sums sums, typename Sums::Acc* partial, Cube cube, std::int64_t piece) {
  using Acc = typename Sums::Acc;
  constexpr int kGroup = Sums::kGroup;
  __shared__ Acc memory[64];
  TeamScratch<Acc> scratch(memory);
  const std::int64_t channel = blockIdx.x;
  const std::int64_t count = cube.outer * cube.inner;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < count ? begin + piece : count;
  // The thread's position, advanced without divisions.
  std::int64_t image = (begin + threadIdx.x) / cube.inner;
  std::int64_t pixel = (begin + threadIdx.x) % cube.inner;
  const std::int64_t image_step = kThreads / cube.inner;
  const std::int64_t pixel_step = kThreads % cube.inner;
  Acc acc = Sums::none();
  for (std::int64_t first = begin + threadIdx.x; first < end; first += kThreads * kGroup) {
    std::int64_t at[kGroup];
    int n = 0;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      at[i] = (image * cube.axis + channel) * cube.inner + pixel;
      n += first + i * kThreads < end ? 1 : 0;
      pixel += pixel_step;
      const bool over = pixel >= cube.inner;
      pixel -= over ? cube.inner : 0;
      image += image_step + (over ? 1 : 0);
    }
    acc = Sums::combine(acc, sums.read(channel, at, n));
  }
  const Team team(kThreads);
  acc = combine_team(team, acc, Sums::none(), scratch, Sums::combine);
  if (threadIdx.x == 0) partial[blockIdx.y * cube.axis + channel] = acc;
}

// One thread per column of the (images, channels * pixels) matrix, over a piece of the images.
template <class Sums>
__global__ void __launch_bounds__(kThreads)
    sum_columns_kernel(Sums sums, typename Sums::Acc* partial, Cube cube, std::int64_t piece) {
  using Acc = typename Sums::Acc;
  constexpr int kGroup = Sums::kGroup;
  __shared__ Acc memory[kThreads / 32][32];
  const std::int64_t n_columns = cube.axis * cube.inner;
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + threadIdx.x;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < cube.outer ? begin + piece : cube.outer;
  Acc acc = Sums::none();
  if (column < n_columns) {
    for (std::int64_t first = begin + threadIdx.y; first < end; first += blockDim.y * kGroup) {
      std::int64_t at[kGroup];
      int n = 0;
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const std::int64_t image = first + i * blockDim.y;
        at[i] = image * n_columns + column;
        n += image < end ? 1 : 0;
      }
      acc = Sums::combine(acc, sums.read(column / cube.inner, at, n));
    }
  }
  memory[threadIdx.y][threadIdx.x] = acc;
  __syncthreads();
  if (threadIdx.y != 0 || column >= n_columns) return;
  for (unsigned y = 1; y < blockDim.y; ++y) acc = Sums::combine(acc, memory[y][threadIdx.x]);
  partial[blockIdx.y * n_columns + column] = acc;
}

// The partial results of the channels, with shape (pieces, channels, per_channel).
template <class Acc>
struct ChannelPartials {
  Buffer space;
  const Acc* data = nullptr;
  int n_pieces = 0;
  int per_channel = 1;
};

// Combines one channel's partial results in a warp; the result is in lane 0.
template <class Sums>
__device__ __forceinline__ typename Sums::Acc combine_channel(const typename Sums::Acc* partial,
                                                              std::int64_t channel,
                                                              std::int64_t n_channels, int n_pieces,
                                                              int per_channel) {
  auto acc = Sums::none();
  for (int k = static_cast<int>(threadIdx.x) % 32; k < n_pieces * per_channel; k += 32) {
    const std::int64_t piece = k / per_channel;
    acc =
        Sums::combine(acc, partial[(piece * n_channels + channel) * per_channel + k % per_channel]);
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) acc = Sums::combine(acc, shuffle_xor(acc, mask));
  return acc;
}

// The number of pieces, each of at least `smallest`, into which an axis is divided to get about
// `enough` blocks.
inline int count_pieces(std::int64_t blocks, std::int64_t axis, std::int64_t smallest,
                        std::int64_t enough) {
  const std::int64_t wanted = (enough + blocks - 1) / std::max<std::int64_t>(blocks, 1);
  return static_cast<int>(std::clamp<std::int64_t>(axis / smallest, 1, wanted));
}

template <class Acc>
Buffer allocate_partial(StreamView stream, std::int64_t count) {
  return pool_of(stream.device()).allocate(static_cast<std::size_t>(count) * sizeof(Acc), stream);
}

template <class Sums>
ChannelPartials<typename Sums::Acc> sum_channels(StreamView stream, const Sums& sums, Cube cube) {
  using Acc = typename Sums::Acc;
  constexpr std::int64_t kEnoughBlocks = 2112;
  const bool columns = cube.inner < kShortRun;
  const std::int64_t length = columns ? cube.outer : cube.outer * cube.inner;
  const std::int64_t across = columns ? (cube.axis * cube.inner + 31) / 32 : cube.axis;
  const std::int64_t least = columns ? 64 : std::int64_t{kThreads} * Sums::kGroup * 2;
  const int n_pieces = std::min(count_pieces(across, length, least, kEnoughBlocks), 65535);
  const std::int64_t piece = (length + n_pieces - 1) / n_pieces;
  ChannelPartials<Acc> partials;
  partials.n_pieces = n_pieces;
  partials.per_channel = columns ? static_cast<int>(cube.inner) : 1;
  partials.space = allocate_partial<Acc>(stream, n_pieces * cube.axis * partials.per_channel);
  partials.data = reinterpret_cast<const Acc*>(partials.space.data());
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(n_pieces));
  launch({"batch_norm", stream, grid, columns ? dim3(32, kThreads / 32) : dim3(kThreads)},
         columns ? sum_columns_kernel<Sums> : sum_runs_kernel<Sums>, sums,
         reinterpret_cast<Acc*>(partials.space.data()), cube, piece);
  return partials;
}

}  // namespace causeway::kernels::cuda
