// Layer and RMS norm of rows. Bytes: each operand once; bound by memory: 16384 x 4096 bf16 reaches
// 78% of an H200's peak, a device copy of as many bytes 79%. A team of threads keeps its row in
// registers between the passes for mean, variance and result, and weight and bias over several
// rows. Longer rows are kept in shared memory, or read again.
#include "causeway/kernels/rows.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_arrays.h"

namespace causeway::kernels::cuda {

namespace {

template <int kVec>
constexpr int kHeld = kVec > 1 ? 4 : 8;  // vectors of a row in a thread's registers

constexpr int kMostShared = 384;  // maximum threads per row: two such blocks leave 80 registers

template <class T>
struct NormRows : NormArrays<T> {
  std::int64_t n_rows;
  int n_columns;
  bool centred;  // layer norm
  Compute<T> epsilon;
};

// A kernel of few blocks takes no longer than its launch, so it starts while the one before ends.
Launch launch_of(StreamView stream, std::int64_t blocks, int threads, std::size_t shared = 0) {
  constexpr std::int64_t kFewBlocks = 256;
  const Launch how("norm", stream, dim3(static_cast<unsigned>(blocks)),
                   dim3(static_cast<unsigned>(threads)), shared);
  return blocks <= kFewBlocks ? how.overlapping() : how;
}

template <class C>
__device__ __forceinline__ C rstd_of(C squares, int n_columns, C epsilon) {
  return reciprocal_root(squares / static_cast<C>(n_columns) + epsilon);
}

// Each team processes `rows_per_team` rows; the teams of a block take adjacent rows.
template <int kVec, class T>
__global__ void __launch_bounds__(kMostShared, 2)
    norm_kernel(NormRows<T> rows, int team_size, int rows_per_team) {
  using C = Compute<T>;
  constexpr int kVectors = kHeld<kVec>;
  __shared__ C memory[64];
  TeamScratch<C> scratch(memory);
  const Team team(team_size);
  wait_for_previous();  // also for the weights: the kernel before may be an optimizer's
  const int n_teams = static_cast<int>(blockDim.x) / team.size;
  std::int64_t row = std::int64_t{blockIdx.x} * n_teams * rows_per_team + threadIdx.x / team.size;
  Vector<T, kVec> weight[kVectors];
  Vector<T, kVec> bias[kVectors];
  load_row(weight, rows.weight, team, rows.weight != nullptr ? rows.n_columns : 0, T(C(1)));
  load_row(bias, rows.bias, team, rows.bias != nullptr ? rows.n_columns : 0, T(C(0)));
  for (int k = 0; k < rows_per_team; ++k, row += n_teams) {
    keep_packed(weight);
    keep_packed(bias);
    const bool live = row < rows.n_rows;
    const int columns = live ? rows.n_columns : 0;
    const std::int64_t first = row * rows.n_columns;
    Vector<T, kVec> x[kVectors];
    load_row(x, rows.in + first, team, columns, T(C(0)));
    if (rows.residual != nullptr) {
      Vector<T, kVec> residual[kVectors];
      load_row(residual, rows.residual + first, team, columns, T(C(0)));
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        auto total = unpack(x[v]);
        const auto more = unpack(residual[v]);
#pragma unroll
        for (int i = 0; i < kVec; ++i) total.value[i] += more.value[i];
        x[v] = pack<T>(total);
        const int column = team.column<kVec>(v);
        if (rows.sum != nullptr && column < columns) {
          store_vector(rows.sum + first + column, x[v]);
        }
      }
    }
    C mean = C(0);
    if (rows.centred) {
      C sum = C(0);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const auto values = unpack(x[v]);
#pragma unroll
        for (int i = 0; i < kVec; ++i) sum += values.value[i];
      }
      mean = sum_team(team, sum, scratch) / static_cast<C>(rows.n_columns);
    }
    keep_packed(x);
    C squares = C(0);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (team.column<kVec>(v) >= columns) continue;
      const auto values = unpack(x[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C distance = values.value[i] - mean;
        squares += distance * distance;
      }
    }
    const C rstd = rstd_of(sum_team(team, squares, scratch), rows.n_columns, rows.epsilon);
    keep_packed(x);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = team.column<kVec>(v);
      if (column >= columns) continue;
      auto values = unpack(x[v]);
      const auto weights = unpack(weight[v]);
      const auto biases = unpack(bias[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        values.value[i] = (values.value[i] - mean) * rstd * weights.value[i] + biases.value[i];
      }
      store_vector(rows.out + first + column, pack<T>(values));
    }
    if (team.rank == 0 && live) {
      if (rows.mean != nullptr) rows.mean[row] = mean;
      if (rows.rstd != nullptr) rows.rstd[row] = rstd;
    }
  }
}

// Mean and sum of squared deviations; `join` merges two of equal count (Chan et al. 1979). As
// accurate as a second pass, without a second barrier.
template <class C>
struct Spread {
  C mean;
  C squares;

  // `count` numbers on each side.
  static __device__ __forceinline__ Spread join(const Spread& a, const Spread& b, C count) {
    const C gap = b.mean - a.mean;
    return {(a.mean + b.mean) * C(0.5), a.squares + b.squares + gap * gap * (count * C(0.5))};
  }
};

// Threads resident on a multiprocessor, limited by registers.
template <bool kResidual>
constexpr int kResident = kResidual ? 1024 : 1536;

// Rows of exactly two vectors per thread of a block: one row, one barrier. Layer norm has weight
// and bias, RMS norm a weight. The variant and the sizes, powers of two, are template parameters,
// because every instruction counts here. 16384 x 4096 bf16 reaches 78% of the memory's peak;
// persistent blocks that prefetch the next row are slower.
template <int kWarps, bool kLayer, bool kResidual, class T>
__global__ void __launch_bounds__(kWarps * 32, kResident<kResidual> / (kWarps * 32))
    norm_block_kernel(NormRows<T> rows) {
  using C = Compute<T>;
  constexpr int kVec = vector_width<T>();
  constexpr int kOwn = 2 * kVec;  // elements per thread
  constexpr int kColumns = kWarps * 32 * kOwn;
  __shared__ Spread<C> warps[kWarps];
  const auto column = [](int v) {
    return (v * kWarps * 32 + static_cast<int>(threadIdx.x)) * kVec;
  };
  wait_for_previous();
  const std::int64_t first = std::int64_t{blockIdx.x} * kColumns;
  Vector<T, kVec> x[2];
#pragma unroll
  for (int v = 0; v < 2; ++v) x[v] = load_vector<kVec>(rows.in + first + column(v));
  if constexpr (kResidual) {
    Vector<T, kVec> residual[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) residual[v] = load_vector<kVec>(rows.residual + first + column(v));
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      auto total = unpack(x[v]);
      const auto more = unpack(residual[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) total.value[i] += more.value[i];
      x[v] = pack<T>(total);
      if (rows.sum != nullptr) store_vector(rows.sum + first + column(v), x[v]);
    }
  }
  Spread<C> spread = {C(0), C(0)};
  if constexpr (kLayer) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const auto values = unpack(x[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) spread.mean += values.value[i];
    }
    spread.mean *= C(1) / C(kOwn);
  }
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    const auto values = unpack(x[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const C distance = values.value[i] - spread.mean;
      spread.squares += distance * distance;
    }
  }
  C count = C(kOwn);
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2, count *= C(2)) {
    spread = Spread<C>::join(spread, shuffle_xor(spread, mask), count);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = spread;
  __syncthreads();
  spread = warps[threadIdx.x % kWarps];
#pragma unroll
  for (int mask = 1; mask < kWarps; mask *= 2, count *= C(2)) {
    spread = Spread<C>::join(spread, shuffle_xor(spread, mask), count);
  }
  const C mean = spread.mean;
  const C rstd = reciprocal_root(spread.squares * (C(1) / C(kColumns)) + rows.epsilon);
  keep_packed(x);
  Vector<T, kVec> weight[2];
  Vector<T, kVec> bias[2];
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    weight[v] = load_constant<kVec>(rows.weight + column(v));
    if constexpr (kLayer) bias[v] = load_constant<kVec>(rows.bias + column(v));
  }
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    auto values = unpack(x[v]);
    const auto weights = unpack(weight[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      values.value[i] = (values.value[i] - mean) * rstd * weights.value[i];
    }
    if constexpr (kLayer) {
      const auto biases = unpack(bias[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) values.value[i] += biases.value[i];
    }
    store_vector(rows.out + first + column(v), pack<T>(values));
  }
  if (threadIdx.x != 0) return;
  if (rows.mean != nullptr) rows.mean[blockIdx.x] = mean;
  if (rows.rstd != nullptr) rows.rstd[blockIdx.x] = rstd;
}

// One block per row. `cached` says that x fits in shared memory.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    norm_long_kernel(NormRows<T> rows, bool cached, bool sum_alike, bool out_alike) {
  using C = Compute<T>;
  constexpr int kVec = vector_width<T>();
  extern __shared__ __align__(16) unsigned char cache_memory[];
  auto* cache = reinterpret_cast<T*>(cache_memory);
  __shared__ C memory[64];
  TeamScratch<C> scratch(memory);
  const Team team(kRowThreads);
  wait_for_previous();
  const std::int64_t first = std::int64_t{blockIdx.x} * rows.n_columns;
  const VectorRow<kVec, const T> row(rows.in + first, rows.n_columns);
  // The row's x; 0 where a vector extends beyond it.
  const auto load = [&](int v) {
    auto x = row.load(v, T(C(0)));
    if (rows.residual == nullptr) return x;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = row.column(v) + i;
      if (at < 0 || at >= rows.n_columns) continue;
      x.value[i] =
          static_cast<T>(static_cast<C>(x.value[i]) + static_cast<C>(rows.residual[first + at]));
    }
    return x;
  };
  const auto load_again = [&](int v) {
    return cached ? load_vector<kVec>(cache + v * kVec) : load(v);
  };
  C sum = C(0);
#pragma unroll 4
  for (int v = team.rank; v < row.n_vectors(); v += kRowThreads) {
    const auto x = load(v);
    if (cached) store_shared(cache + v * kVec, x);
    if (rows.residual != nullptr && rows.sum != nullptr) {
      row.store(v, rows.sum + first, sum_alike, x);
    }
#pragma unroll
    for (int i = 0; i < kVec; ++i) sum += static_cast<C>(x.value[i]);
  }
  sum = sum_team(team, sum, scratch);
  const C mean = rows.centred ? sum / static_cast<C>(rows.n_columns) : C(0);
  C squares = C(0);
#pragma unroll 2
  for (int v = team.rank; v < row.n_vectors(); v += kRowThreads) {
    const auto x = load_again(v);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = row.column(v) + i;
      const C distance = static_cast<C>(x.value[i]) - mean;
      if (at >= 0 && at < rows.n_columns) squares += distance * distance;
    }
  }
  const C rstd = rstd_of(sum_team(team, squares, scratch), rows.n_columns, rows.epsilon);
#pragma unroll 2
  for (int v = team.rank; v < row.n_vectors(); v += kRowThreads) {
    const auto x = load_again(v);
    Vector<T, kVec> result;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const int at = row.column(v) + i;
      const bool inside = at >= 0 && at < rows.n_columns;
      C value = (static_cast<C>(x.value[i]) - mean) * rstd;
      if (inside && rows.weight != nullptr) value *= static_cast<C>(rows.weight[at]);
      if (inside && rows.bias != nullptr) value += static_cast<C>(rows.bias[at]);
      result.value[i] = static_cast<T>(value);
    }
    row.store(v, rows.out + first, out_alike, result);
  }
  if (team.rank != 0) return;
  if (rows.mean != nullptr) rows.mean[blockIdx.x] = mean;
  if (rows.rstd != nullptr) rows.rstd[blockIdx.x] = rstd;
}

template <int kWarps, class T>
bool norm_with(StreamView stream, const NormRows<T>& rows) {
  if (rows.n_columns != 2 * kWarps * 32 * vector_width<T>()) return false;
  auto* kernel = norm_block_kernel<kWarps, false, false, T>;
  if (rows.centred && rows.residual != nullptr) {
    kernel = norm_block_kernel<kWarps, true, true, T>;
  } else if (rows.centred) {
    kernel = norm_block_kernel<kWarps, true, false, T>;
  } else if (rows.residual != nullptr) {
    kernel = norm_block_kernel<kWarps, false, true, T>;
  }
  launch(launch_of(stream, rows.n_rows, kWarps * 32), kernel, rows);
  return true;
}

template <class T>
bool norm_by_blocks(StreamView stream, const NormRows<T>& rows) {
  if (rows.weight == nullptr || (rows.bias != nullptr) != rows.centred) return false;
  return norm_with<4>(stream, rows) || norm_with<8>(stream, rows) || norm_with<16>(stream, rows);
}

template <int kVec, class T>
bool norm_in_registers(StreamView stream, const NormRows<T>& rows) {
  const RowPlan plan = plan_rows(rows.n_columns, kVec, 4, kHeld<kVec>, kMostShared);
  if (!plan.fits()) return false;
  // Several rows per team, so that weights are read less often, but enough blocks for several
  // waves.
  constexpr std::int64_t kEnoughBlocks = 4096;
  const std::int64_t teams = plan.rows_per_block();
  const std::int64_t per_team =
      std::clamp<std::int64_t>(rows.n_rows / (teams * kEnoughBlocks), 1, 8);
  const std::int64_t blocks = (rows.n_rows + teams * per_team - 1) / (teams * per_team);
  launch(launch_of(stream, blocks, plan.threads), norm_kernel<kVec, T>, rows, plan.team,
         static_cast<int>(per_team));
  return true;
}

}  // namespace

void norm(StreamView stream, const Norm& how, const Operand& in, const Operand& residual,
          const Operand& weight, const Operand& bias, const Operand& sum, const Operand& out,
          const Operand& mean, const Operand& rstd) {
  if (how.n_rows == 0 || how.n_columns == 0) return;
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    constexpr int kWide = vector_width<T>();
    const NormRows<T> rows = {{in, residual, weight, bias, sum, out, mean, rstd},
                              how.n_rows,
                              static_cast<int>(how.n_columns),
                              how.op == NormOp::layer,
                              static_cast<C>(how.epsilon)};
    if constexpr (sizeof(T) < 8) {  // vectors do not help 8-byte elements
      const bool aligned = rows_align(how.n_columns, kWide, sizeof(T), rows.in, rows.residual,
                                      rows.weight, rows.bias, rows.sum, rows.out);
      if (aligned && norm_by_blocks(stream, rows)) return;
      if (aligned && norm_in_registers<kWide>(stream, rows)) return;
    }
    if (norm_in_registers<1>(stream, rows)) return;
    const std::size_t bytes = static_cast<std::size_t>(how.n_columns + 2 * kWide) * sizeof(T);
    const bool cached = bytes <= shared_memory_limit(stream);
    launch(launch_of(stream, how.n_rows, kRowThreads, cached ? bytes : 0), norm_long_kernel<T>,
           rows, cached, same_alignment(rows.in, rows.sum), same_alignment(rows.in, rows.out));
  });
}

}  // namespace causeway::kernels::cuda
