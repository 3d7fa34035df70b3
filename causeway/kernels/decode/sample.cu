// Draws tokens, a block per sequence. Bytes: the logits once, into shared memory if they fit; else
// each pass reads them from the L2 cache. Bound by one multiprocessor per sequence: its loads, and
// an exponential per logit.
#include "causeway/kernels/decode/decode.h"

#include "causeway/kernels/decode/decode.cuh"
#include "causeway/kernels/decode/decode_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/rows.cuh"
#include "causeway/random/philox.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kBlock = 1024;
constexpr int kWarps = kBlock / 32;
constexpr int kBins = 256;

template <class T>
struct Row {
  const T* logits;
  int n;
  float largest;
  float inverse_temperature;

  __device__ float logit(int i) const { return static_cast<float>(logits[i]); }
  __device__ std::uint64_t mass(int i) const {
    return mass_of(logit(i), largest, inverse_temperature);
  }
};

// Calls body(i) for this thread's indices below n. Several loads are in flight.
template <class Body>
__device__ __forceinline__ void for_each(int n, const Body& body) {
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < n; i += kBlock) body(i);
}

__device__ std::uint64_t sum_block(std::uint64_t value, std::uint64_t* scratch) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  std::uint64_t sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += scratch[i];
  return sum;
}

// The index of the largest logit, the first of equal ones.
template <class T>
__device__ int find_largest(const Row<T>& row, std::uint64_t* scratch) {
  std::uint64_t best = 0;  // key, then the complement of the index
  for_each(row.n, [&](int i) {
    const std::uint64_t entry = (std::uint64_t{ordered_key(row.logit(i))} << 32) |
                                (0xffffffffu - static_cast<std::uint32_t>(i));
    best = best > entry ? best : entry;
  });
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    const std::uint64_t other = __shfl_xor_sync(0xffffffffu, best, mask);
    best = best > other ? best : other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = best;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) best = best > scratch[i] ? best : scratch[i];
  return static_cast<int>(0xffffffffu - static_cast<std::uint32_t>(best));
}

// The largest key K such that the entries with keys of at least K weigh `wanted` or more, by radix
// selection: one pass for each byte of the key. `weigh` is 1 or the mass of an entry, 0 to leave it
// out.
template <class T, class Weigh>
__device__ std::uint32_t select_key(const Row<T>& row, std::uint64_t wanted, std::uint64_t* bins,
                                    std::uint32_t* chosen, const Weigh& weigh) {
  std::uint32_t prefix = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < kBins; i += kBlock) bins[i] = 0;
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
    __syncthreads();
    if (threadIdx.x == 0) {
      int bin = kBins - 1;
      for (; bin > 0 && bins[bin] < wanted; --bin) wanted -= bins[bin];
      chosen[0] = prefix | (static_cast<std::uint32_t>(bin) << shift);
      bins[0] = wanted;
    }
    __syncthreads();
    prefix = chosen[0];
    wanted = bins[0];
    __syncthreads();
  }
  return prefix;
}

// A row divided into one contiguous segment per warp, with the sum of masses before each.
struct Segments {
  int length;
  std::uint64_t* before;  // in shared memory, kWarps + 1; the last is the sum of the row
};

template <class Mass>
__device__ void sum_segments(int n, const Segments& segments, const Mass& mass) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int end = min((warp + 1) * segments.length, n);
  std::uint64_t sum = 0;
#pragma unroll 8
  for (int i = warp * segments.length + static_cast<int>(threadIdx.x) % 32; i < end; i += 32) {
    sum += mass(i);
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  __syncthreads();
  if (threadIdx.x % 32 == 0) segments.before[warp + 1] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  segments.before[0] = 0;
  for (int i = 0; i < kWarps; ++i) segments.before[i + 1] += segments.before[i];
}

// The first index at which the running sum of masses exceeds `rest`. All threads look at the
// segment that has it, one index each at a time. `totals` has kWarps elements.
template <class Mass>
__device__ void find_index(int n, std::uint64_t rest, const Segments& segments, const Mass& mass,
                           std::uint64_t* totals, int* found) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int segment = 0;
  while (segment < kWarps - 1 && rest >= segments.before[segment + 1]) ++segment;
  std::uint64_t before = segments.before[segment];
  const int end = min((segment + 1) * segments.length, n);
  for (int first = segment * segments.length; first < end; first += kBlock) {
    const int i = first + static_cast<int>(threadIdx.x);
    const std::uint64_t own = i < end ? mass(i) : 0;
    std::uint64_t sum = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::uint64_t other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    __syncthreads();
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    std::uint64_t begin = before - own;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) begin += totals[w];
      before += totals[w];
    }
    if (rest >= begin + sum && rest < begin + sum + own) *found = i;
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

template <class T>
__global__ void __launch_bounds__(kBlock)
    sample_kernel(SampleTokens how, const T* logits, std::int64_t columns, bool copied,
                  std::int64_t capacity, std::int64_t* tokens, std::int64_t* lengths) {
  extern __shared__ uint4 copy[];
  __shared__ std::uint64_t scratch[kWarps];
  __shared__ std::uint64_t before[kWarps + 1];
  __shared__ std::uint64_t bins[kBins];
  __shared__ std::uint32_t chosen;
  __shared__ int found;
  start_next();
  wait_for_previous();
  const std::int64_t b = blockIdx.x;
  const std::int64_t length = lengths[b];
  if (length + 1 >= capacity) return;
  Row<T> row{logits + b * columns, static_cast<int>(how.n_classes), 0, 0};
  if (copied) {
    copy_row(row.logits, row.n, copy);
    row.logits = reinterpret_cast<const T*>(copy);
  }
  const int best = find_largest(row, scratch);
  if (threadIdx.x == 0) found = best;
  if (how.temperature > 0) {
    row.largest = row.logit(best);
    row.inverse_temperature = 1.0f / how.temperature;
    std::uint32_t least = 0;
    if (how.top_k > 0 && how.top_k < how.n_classes) {
      least = select_key(row, static_cast<std::uint64_t>(how.top_k), bins, &chosen,
                         [](int, std::uint32_t) { return std::uint64_t{1}; });
    }
    if (how.top_p < 1) {
      std::uint64_t kept = 0;
      for_each(row.n, [&](int i) {
        if (ordered_key(row.logit(i)) >= least) kept += row.mass(i);
      });
      const double total = static_cast<double>(sum_block(kept, scratch));
      const auto wanted = static_cast<std::uint64_t>(ceil(static_cast<double>(how.top_p) * total));
      const std::uint32_t by_mass = select_key(
          row, wanted, bins, &chosen,
          [&](int i, std::uint32_t key) { return key >= least ? row.mass(i) : std::uint64_t{0}; });
      least = by_mass > least ? by_mass : least;
    }
    const auto least_mass = static_cast<std::uint64_t>(how.min_p * kMassOfLargest);
    const auto mass = [&](int i) {
      const std::uint64_t here = row.mass(i);
      return ordered_key(row.logit(i)) < least || here < least_mass ? std::uint64_t{0} : here;
    };
    const Segments segments{(row.n + kWarps - 1) / kWarps, before};
    sum_segments(row.n, segments, mass);
    __syncthreads();
    const std::uint64_t total = before[kWarps];
    const Bits128 bits =
        philox(how.seed, static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(length));
    const std::uint64_t rest =
        scaled_draw((std::uint64_t{bits.word[1]} << 32) | bits.word[0], total);
    find_index(row.n, rest, segments, mass, scratch, &found);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  tokens[b * capacity + length + 1] = found;
  lengths[b] = length + 1;
}

}  // namespace

void sample_tokens(StreamView stream, const SampleTokens& how, const Operand& logits,
                   const Operand& tokens, const Operand& lengths) {
  dispatch_floating(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* data = static_cast<const T*>(logits.data);
    const std::size_t bytes = (static_cast<std::size_t>(how.n_classes) * sizeof(T) + 15) / 16 * 16;
    const bool copied = bytes <= shared_memory_limit(stream) &&
                        rows_align(logits.shape[1], 16 / sizeof(T), sizeof(T), data);
    launch(Launch("sample_tokens", stream, dim3(static_cast<unsigned>(logits.shape[0])),
                  dim3(kBlock), copied ? bytes : 0)
               .overlapping(),
           sample_kernel<T>, how, data, logits.shape[1], copied, tokens.shape[1],
           static_cast<std::int64_t*>(tokens.data), static_cast<std::int64_t*>(lengths.data));
  });
}

}  // namespace causeway::kernels::cuda
