// Draws tokens. A few sequences have a cluster of 8 or 4 blocks each, many have one block each.
// Bytes: the logits once, into shared memory if they fit; else each pass reads them from the L2
// cache. Bound by latency for a few sequences: the launch, the loads, and a barrier of the cluster
// for the maximum and one for the sum. Probabilities are integers, so the number of blocks changes
// no sum. Compiled without contraction, so that the probabilities are equal to the CPU's.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/cluster.cuh"
#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"
#include "causeway/random/philox.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kBlock = 512;
constexpr int kWarps = kBlock / 32;
constexpr int kBins = 256;
constexpr int kClusterBlocks = 8;  // at most
// All clusters run at the same time on an H200, which has room for 2 blocks per multiprocessor.
constexpr std::int64_t kRowsOfEight = 32;
constexpr std::int64_t kRowsOfFour = 64;

struct alignas(16) Shared {
  std::uint64_t warps[kWarps];
  std::uint64_t before[kWarps + 1];
  std::uint64_t blocks[3][kClusterBlocks];  // values of the blocks: maximum, kept mass, drawn mass
  std::uint64_t bins[2][kBins];
  std::uint64_t totals[kBins];
  std::uint64_t wanted;
  std::uint32_t chosen;
};

// This block's part of a row.
template <class T>
struct Row {
  const T* logits;
  int first;  // column of logits[0]
  int n;
  float largest;  // of the whole row
  float inverse_temperature;

  __device__ float logit(int i) const { return static_cast<float>(logits[i]); }
  __device__ std::uint64_t mass(int i) const {
    return mass_of(logit(i), largest, inverse_temperature);
  }
};

// Calls body(i) for this thread's indices below n. Several loads are in flight.
template <class Body>
__device__ __forceinline__ void for_each(int n, const Body& body) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kBlock) body(i);
}

template <class Combine>
__device__ std::uint64_t combine_block(std::uint64_t value, Shared& shared,
                                       const Combine& combine) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared.warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared.warps[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) value = combine(value, shared.warps[i]);
  return value;
}

// Gives the value of this block to all blocks of the cluster, and returns theirs by rank. A line
// of shared.blocks serves one call.
template <int kCluster>
__device__ const std::uint64_t* share(std::uint64_t value, std::uint64_t* line) {
  using Blocks = Cluster<kCluster>;
  if (threadIdx.x < kCluster) {
    Blocks::of_rank(line, static_cast<int>(threadIdx.x))[Blocks::rank()] = value;
  }
  Blocks::sync();
  return line;
}

// The largest logit's key, then the complement of its index: the first of equal ones.
template <int kCluster, class T>
__device__ std::uint64_t find_largest(const Row<T>& row, Shared& shared) {
  const auto larger_of = [](std::uint64_t a, std::uint64_t b) { return a > b ? a : b; };
  std::uint64_t best = 0;
  for_each(row.n, [&](int i) {
    best = larger_of(best, (std::uint64_t{ordered_key(row.logit(i))} << 32) |
                               (0xffffffffu - static_cast<std::uint32_t>(row.first + i)));
  });
  best = combine_block(best, shared, larger_of);
  Cluster<kCluster>::wait();  // the others have started
  const std::uint64_t* all = share<kCluster>(best, shared.blocks[0]);
  for (int r = 0; r < kCluster; ++r) best = larger_of(best, all[r]);
  return best;
}

// The first bin from the top at which the running sum reaches `wanted`, and what is then missing
// without it. One warp: a lane has 8 neighbouring bins.
__device__ void choose_bin(Shared& shared, std::uint64_t wanted, std::uint32_t prefix, int shift) {
  constexpr int kEach = kBins / 32;
  const int lane = static_cast<int>(threadIdx.x);
  const int top = kBins - 1 - lane * kEach;
  std::uint64_t sum = 0;
  for (int j = 0; j < kEach; ++j) sum += shared.totals[top - j];
  const std::uint64_t own = sum;
  for (int step = 1; step < 32; step *= 2) {
    const std::uint64_t other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  const unsigned reached = __ballot_sync(0xffffffffu, sum >= wanted);
  if (lane != (reached != 0 ? __ffs(static_cast<int>(reached)) - 1 : 31)) return;
  std::uint64_t rest = wanted - (sum - own);
  int bin = top;
  for (; bin > top - kEach + 1 && shared.totals[bin] < rest; --bin) rest -= shared.totals[bin];
  shared.chosen = prefix | (static_cast<std::uint32_t>(bin) << shift);
  shared.wanted = rest;
}

// The largest key K such that the entries with keys of at least K weigh `wanted` or more, by radix
// selection: one pass for each byte of the key. `weigh` is 1 or the mass of an entry, 0 to leave it
// out.
template <int kCluster, class T, class Weigh>
__device__ std::uint32_t select_key(const Row<T>& row, std::uint64_t wanted, Shared& shared,
                                    const Weigh& weigh) {
  using Blocks = Cluster<kCluster>;
  std::uint32_t prefix = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    // The others may still read the bins of the pass before.
    std::uint64_t* bins = shared.bins[shift / 8 % 2];
    for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kBlock) bins[i] = 0;
    __syncthreads();
    const std::uint32_t fixed = shift == 24 ? 0 : ~((1u << (shift + 8)) - 1);
    for_each(row.n, [&](int i) {
      const std::uint32_t key = ordered_key(row.logit(i));
      if ((key & fixed) != prefix) return;
      const std::uint64_t weight = weigh(i, key);
      if (weight > 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(&bins[(key >> shift) & 0xffu]),
                  static_cast<unsigned long long>(weight));
      }
    });
    Blocks::sync();
    for (int i = static_cast<int>(threadIdx.x); i < kBins; i += kBlock) {
      std::uint64_t total = 0;
#pragma unroll
      for (int r = 0; r < kCluster; ++r) total += Blocks::of_rank(bins, r)[i];
      shared.totals[i] = total;
    }
    __syncthreads();
    if (threadIdx.x < 32) choose_bin(shared, wanted, prefix, shift);
    __syncthreads();
    prefix = shared.chosen;
    wanted = shared.wanted;
  }
  return prefix;
}

// The smallest key that top-k and top-p keep.
template <int kCluster, class T>
__device__ std::uint32_t least_key(const SampleTokens& how, const Row<T>& row, Shared& shared) {
  std::uint32_t least = 0;
  if (how.top_k > 0 && how.top_k < how.n_classes) {
    least = select_key<kCluster>(row, static_cast<std::uint64_t>(how.top_k), shared,
                                 [](int, std::uint32_t) { return std::uint64_t{1}; });
  }
  if (how.top_p >= 1) return least;
  std::uint64_t kept = 0;
  for_each(row.n, [&](int i) {
    if (ordered_key(row.logit(i)) >= least) kept += row.mass(i);
  });
  kept = combine_block(kept, shared, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  const std::uint64_t* all = share<kCluster>(kept, shared.blocks[1]);
  kept = 0;
  for (int r = 0; r < kCluster; ++r) kept += all[r];
  const auto wanted =
      static_cast<std::uint64_t>(ceil(static_cast<double>(how.top_p) * static_cast<double>(kept)));
  const std::uint32_t by_mass = select_key<kCluster>(
      row, wanted, shared,
      [&](int i, std::uint32_t key) { return key >= least ? row.mass(i) : std::uint64_t{0}; });
  return by_mass > least ? by_mass : least;
}

// Divides the indices below n into a contiguous segment per warp, and writes the sums of masses
// before each to `before`; the last is the sum of all. Returns the length of a segment.
template <class Mass>
__device__ int sum_segments(int n, const Mass& mass, std::uint64_t* before) {
  const int length = (n + kWarps - 1) / kWarps;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int end = min((warp + 1) * length, n);
  std::uint64_t sum = 0;
#pragma unroll 4
  for (int i = warp * length + static_cast<int>(threadIdx.x) % 32; i < end; i += 32) {
    sum += mass(i);
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (threadIdx.x % 32 == 0) before[warp + 1] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    before[0] = 0;
    for (int i = 0; i < kWarps; ++i) before[i + 1] += before[i];
  }
  __syncthreads();
  return length;
}

// Calls found(i) for the first index at which the running sum of masses exceeds `rest`, which is
// below their sum. All threads look at the segment that has it, one index each at a time.
template <class Mass, class Found>
__device__ void find_index(int n, std::uint64_t rest, int length, const Mass& mass, Shared& shared,
                           const Found& found) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int segment = 0;
  while (segment < kWarps - 1 && rest >= shared.before[segment + 1]) ++segment;
  std::uint64_t before = shared.before[segment];
  const int end = min((segment + 1) * length, n);
  for (int first = segment * length; first < end; first += kBlock) {
    const int i = first + static_cast<int>(threadIdx.x);
    const std::uint64_t own = i < end ? mass(i) : 0;
    std::uint64_t sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint64_t other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) shared.warps[warp] = sum;
    __syncthreads();
    std::uint64_t begin = before - own;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) begin += shared.warps[w];
      before += shared.warps[w];
    }
    if (rest >= begin + sum && rest < begin + sum + own) found(i);
  }
}

// Copies a row to shared memory in vectors.
template <class T>
__device__ void copy_row(const T* from, int n, uint4* to) {
  constexpr int kAtOnce = 8;
  const auto* vectors = reinterpret_cast<const uint4*>(from);
  const int count = (n * static_cast<int>(sizeof(T)) + 15) / 16;
  for (int base = static_cast<int>(threadIdx.x); base < count; base += kAtOnce * kBlock) {
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (base + k * kBlock < count) loaded[k] = vectors[base + k * kBlock];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (base + k * kBlock < count) to[base + k * kBlock] = loaded[k];
    }
  }
  __syncthreads();
}

// Draws a token. The thread that finds its index i calls found(i); none does if this returns false,
// because all masses are 0.
template <int kCluster, class T, class Found>
__device__ bool draw(const SampleTokens& how, const Row<T>& row, std::int64_t b,
                     std::int64_t length, Shared& shared, const Found& found) {
  const std::uint32_t least = least_key<kCluster>(how, row, shared);
  const auto least_mass = static_cast<std::uint64_t>(how.min_p * kMassOfLargest);
  const auto mass = [&](int i) {
    const std::uint64_t here = row.mass(i);
    return ordered_key(row.logit(i)) < least || here < least_mass ? std::uint64_t{0} : here;
  };
  const int segment = sum_segments(row.n, mass, shared.before);
  const std::uint64_t own = shared.before[kWarps];
  const std::uint64_t* all = share<kCluster>(own, shared.blocks[2]);
  std::uint64_t before = 0;
  std::uint64_t total = 0;
  for (int r = 0; r < kCluster; ++r) {
    if (r < Cluster<kCluster>::rank()) before += all[r];
    total += all[r];
  }
  const Bits128 bits =
      philox(how.seed, static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(length));
  const std::uint64_t rest = scaled_draw((std::uint64_t{bits.word[1]} << 32) | bits.word[0], total);
  if (rest >= before && rest - before < own) {
    find_index(row.n, rest - before, segment, mass, shared, found);
  }
  return total > 0;
}

template <class T, int kCluster>
__global__ void CAUSEWAY_CLUSTER_DIMS(kCluster) __launch_bounds__(kBlock, 2)
    sample_kernel(SampleTokens how, const T* logits, std::int64_t columns, int part, bool copied,
                  std::int64_t capacity, std::int64_t* tokens, std::int64_t* lengths) {
  extern __shared__ uint4 memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  uint4* copy = memory + sizeof(Shared) / sizeof(uint4);
  start_next();
  Cluster<kCluster>::arrive();
  wait_for_previous();
  const std::int64_t b = blockIdx.x / kCluster;
  const int rank = Cluster<kCluster>::rank();
  const std::int64_t length = lengths[b];
  if (length + 1 >= capacity) return Cluster<kCluster>::wait();
  const auto n_classes = static_cast<int>(how.n_classes);
  const int first = min(rank * part, n_classes);
  Row<T> row{logits + b * columns + first, first, min(part, n_classes - first), 0, 0};
  if (copied) {
    copy_row(row.logits, row.n, copy);
    row.logits = reinterpret_cast<const T*>(copy);
  }
  const std::uint64_t best = find_largest<kCluster>(row, shared);
  std::int64_t* to = tokens + b * capacity + length + 1;
  bool drawn = false;
  if (how.temperature > 0) {
    row.largest = value_of_key(static_cast<std::uint32_t>(best >> 32));
    row.inverse_temperature = 1.0f / how.temperature;
    drawn = draw<kCluster>(how, row, b, length, shared, [&](int i) { *to = row.first + i; });
  }
  // All blocks have read the length: they have exchanged values since.
  if (rank != 0 || threadIdx.x != 0) return;
  if (!drawn) *to = 0xffffffffu - static_cast<std::uint32_t>(best);
  lengths[b] = length + 1;
}

bool has_clusters(Device device) {
  int value = 0;
  driver::check(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, device.index), "clusters");
  return value != 0;
}

template <class T, int kCluster>
void sample_rows(StreamView stream, const SampleTokens& how, const Operand& logits,
                 const Operand& tokens, const Operand& lengths) {
  constexpr std::int64_t kVec = 16 / sizeof(T);
  const auto* data = static_cast<const T*>(logits.data);
  const std::int64_t part = (how.n_classes + kCluster * kVec - 1) / (kCluster * kVec) * kVec;
  const std::size_t bytes = static_cast<std::size_t>(part) * sizeof(T);
  const bool copied = sizeof(Shared) + bytes <= shared_memory_limit(stream) &&
                      rows_align(logits.shape[1], kVec, sizeof(T), data);
  launch(Launch("sample_tokens", stream, dim3(static_cast<unsigned>(kCluster * logits.shape[0])),
                dim3(kBlock), sizeof(Shared) + (copied ? bytes : 0))
             .overlapping(),
         sample_kernel<T, kCluster>, how, data, logits.shape[1], static_cast<int>(part), copied,
         tokens.shape[1], static_cast<std::int64_t*>(tokens.data),
         static_cast<std::int64_t*>(lengths.data));
}

}  // namespace

void sample_tokens(StreamView stream, const SampleTokens& how, const Operand& logits,
                   const Operand& tokens, const Operand& lengths) {
  dispatch_floating(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t n_rows = logits.shape[0];
    if (n_rows > kRowsOfFour || !has_clusters(stream.device())) {
      sample_rows<T, 1>(stream, how, logits, tokens, lengths);
    } else if (n_rows > kRowsOfEight) {
      sample_rows<T, 4>(stream, how, logits, tokens, lengths);
    } else {
      sample_rows<T, kClusterBlocks>(stream, how, logits, tokens, lengths);
    }
  });
}

}  // namespace causeway::kernels::cuda
