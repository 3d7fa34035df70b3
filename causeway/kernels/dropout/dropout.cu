// Dropout. Bytes: the input once, the output once; bound by memory (f32 reaches 83% of an H200's
// peak), with Philox's arithmetic close behind. A thread draws two blocks of random words and
// processes the eight elements they decide.
#include "causeway/kernels/dropout/dropout.h"

#include "causeway/kernels/rows.cuh"
#include "causeway/kernels/dropout/dropout_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/driver.h"

namespace causeway::kernels::cuda {

namespace {

constexpr int kGroups = 2;  // groups of kDropoutBlock elements per thread

// Elements of a 16-byte vector, at most those one block of words decides.
template <class T>
constexpr int kPiece = vector_width<T>() < kDropoutBlock ? vector_width<T>() : kDropoutBlock;

template <class T>
__device__ __forceinline__ void drop_group(
    const DropoutDraw& draw, const Bits128& bits,
    Vector<T, kPiece<T>> (&part)[kDropoutBlock / kPiece<T>]) {
  constexpr int kVec = kPiece<T>;
#pragma unroll
  for (int p = 0; p < kDropoutBlock / kVec; ++p) {
    auto values = unpack(part[p]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      values.value[i] = draw.apply(bits.word[p * kVec + i], values.value[i]);
    }
    part[p] = pack<T>(values);
  }
}

// The groups of a thread are adjacent for 16-bit types, where they share 16 bytes, and a block's
// width apart otherwise, so that accesses are coalesced. `whole` says that vectors are aligned.
template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(RandomKey key, DropoutDraw draw, const std::int64_t* step, const T* in, T* out,
                   std::int64_t count, bool whole) {
  using C = Compute<T>;
  constexpr int kVec = kPiece<T>;
  constexpr int kPieces = kDropoutBlock / kVec;
  constexpr bool kAdjacent = sizeof(T) == 2;
  const std::uint64_t stream = dropout_stream(key.stream, step != nullptr ? *step : 0);
  const std::int64_t begin = std::int64_t{blockIdx.x} * kThreads * kGroups;
  const std::int64_t first = begin + (kAdjacent ? threadIdx.x * kGroups : threadIdx.x);
  constexpr int kApart = kAdjacent ? 1 : kThreads;
  const std::int64_t last = first + (kGroups - 1) * kApart;
  if (whole && (last + 1) * kDropoutBlock <= count) {
    Vector<T, kVec> part[kGroups][kPieces];
    if constexpr (kAdjacent) {
      const auto both = load_vector<kGroups * kDropoutBlock>(in + first * kDropoutBlock);
      memcpy(part, &both, sizeof(part));
    } else {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          part[g][p] = load_vector<kVec>(in + (first + g * kApart) * kDropoutBlock + p * kVec);
        }
      }
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      drop_group<T>(draw, philox(key.seed, stream, static_cast<std::uint64_t>(first + g * kApart)),
                    part[g]);
    }
    if constexpr (kAdjacent) {
      Vector<T, kGroups * kDropoutBlock> both;
      memcpy(&both, part, sizeof(part));
      store_vector(out + first * kDropoutBlock, both);
    } else {
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          store_vector(out + (first + g * kApart) * kDropoutBlock + p * kVec, part[g][p]);
        }
      }
    }
    return;
  }
  for (int g = 0; g < kGroups; ++g) {
    const std::int64_t group = first + g * kApart;
    if (group * kDropoutBlock >= count) break;
    const Bits128 bits = philox(key.seed, stream, static_cast<std::uint64_t>(group));
#pragma unroll
    for (int i = 0; i < kDropoutBlock; ++i) {
      const std::int64_t at = group * kDropoutBlock + i;
      if (at < count) {
        out[at] = static_cast<T>(draw.apply(bits.word[i], static_cast<C>(in[at])));
      }
    }
  }
}

}  // namespace

void dropout(StreamView stream, RandomKey key, const Operand& step, double probability,
             const Operand& in, const Operand& out) {
  const std::int64_t count = numel(in.shape);
  if (count == 0) return;
  bool drops_all = false;
  const DropoutDraw draw = make_dropout_draw(probability, drops_all);
  if (drops_all) {
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(out.dtype);
    driver::fill_async(stream.device().index, out.data, 0, bytes, stream.handle());
    return;
  }
  constexpr std::int64_t kPerBlock = kThreads * kGroups * kDropoutBlock;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(out.data);
    const bool whole = rows_align(0, 1, 16, from, to);
    launch({"dropout", stream, dim3(static_cast<unsigned>((count + kPerBlock - 1) / kPerBlock)),
            dim3(kThreads)},
           dropout_kernel<T>, key, draw, static_cast<const std::int64_t*>(step.data), from, to,
           count, whole);
  });
}

}  // namespace causeway::kernels::cuda
