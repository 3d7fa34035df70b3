// The gradients of layer and RMS norm: the choice of the kernel, and the kernel that keeps rows in
// registers. Bytes: x and the gradient read once, x's gradient written once; bound by memory. A
// fixed number of blocks loops over the rows. A thread has the same columns of all its rows and
// sums their contributions to the gradients of weight and bias in registers; the blocks' sums are
// then added in order. The data of the next row is loaded while the current one is reduced, above
// all its mean and rstd, single words with a long latency.
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/kernels/norm/norm_gradient_block.cuh"
#include "causeway/kernels/norm/norm_gradient_long.cuh"
#include "causeway/runtime/driver.h"

#include <bit>

namespace causeway::kernels::cuda {

namespace {

// Vectors in a thread's registers for rows that are not aligned and read element by element.
template <class T>
constexpr int kSingles = sizeof(T) == 8 ? 4 : 8;

// Threads of a multiprocessor: more vectors per thread need more registers. With three, the other
// warps hide the latency better than reading ahead does.
template <int kVectors>
struct NormGradientPlan {
  static constexpr int kBlock = kVectors == 3 ? 128 : kRowThreads;
  static constexpr int kBlocks = kVectors == 3 ? 3 : (kVectors == 1 ? 2 : 1);
  static constexpr bool kReadsAhead = kVectors > 1 && kVectors != 3;
  static constexpr std::int64_t kAllThreads = kProcessors * kBlock * kBlocks;
};

// A thread's part of one row.
template <int kVec, int kVectors, class T>
struct RowPart {
  Vector<T, kVec> x[kVectors];
  Vector<T, kVec> gradient[kVectors];
  Compute<T> mean;
  Compute<T> rstd;

  __device__ __forceinline__ void load(const NormGradientRows<T>& rows, std::int64_t row,
                                       const Team& team) {
    using C = Compute<T>;
    const bool live = row < rows.n_rows;
    const int columns = live ? rows.n_columns : 0;
    load_row(x, rows.x + row * rows.n_columns, team, columns, T(C(0)));
    load_row(gradient, rows.gradient + row * rows.n_columns, team, columns, T(C(0)));
    mean = live && rows.centred ? rows.mean[row] : C(0);
    rstd = live ? rows.rstd[row] : C(0);
  }
};

// Adds the sums of the teams and stores those of the block.
template <int kVec, int kVectors, class C>
__device__ __forceinline__ void store_partial(const Team& team, int n_columns, C* partial,
                                              const Values<C, kVec> (&weight_sums)[kVectors],
                                              const Values<C, kVec> (&bias_sums)[kVectors]) {
  extern __shared__ __align__(16) unsigned char team_memory[];
  const bool alone = team.size == static_cast<int>(blockDim.x);
  C* block_sums = partial + std::int64_t{blockIdx.x} * 2 * n_columns;
  C* team_sums = reinterpret_cast<C*>(team_memory) + threadIdx.x / team.size * 2 * n_columns;
  C* to = alone ? block_sums : team_sums;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    if (column >= n_columns) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      to[column + i] = weight_sums[v].value[i];
    }
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      to[n_columns + column + i] = bias_sums[v].value[i];
    }
  }
  if (alone) return;
  __syncthreads();
  const C* all = reinterpret_cast<const C*>(team_memory);
  const int n_teams = static_cast<int>(blockDim.x) / team.size;
  for (int at = threadIdx.x; at < 2 * n_columns; at += blockDim.x) {
    C sum = C(0);
    for (int k = 0; k < n_teams; ++k) sum += all[k * 2 * n_columns + at];
    block_sums[at] = sum;
  }
}

template <int kVec, int kVectors, class T>
__global__ void __launch_bounds__(NormGradientPlan<kVectors>::kBlock,
                                  NormGradientPlan<kVectors>::kBlocks)
    norm_gradient_kernel(NormGradientRows<T> rows, int team_size) {
  using C = Compute<T>;
  constexpr bool kReadsAhead = NormGradientPlan<kVectors>::kReadsAhead;
  __shared__ RowSums<C> memory[64];
  TeamScratch<RowSums<C>> scratch(memory);
  const Team team(team_size);
  const int n_teams = static_cast<int>(blockDim.x) / team.size;
  const std::int64_t block_first = std::int64_t{blockIdx.x} * n_teams;
  const std::int64_t step = std::int64_t{gridDim.x} * n_teams;
  const C share = C(1) / static_cast<C>(rows.n_columns);
  Vector<T, kVec> weight[kVectors];
  load_row(weight, rows.weight, team, rows.weight != nullptr ? rows.n_columns : 0, T(C(1)));
  Values<C, kVec> weight_sums[kVectors] = {};
  Values<C, kVec> bias_sums[kVectors] = {};
  RowPart<kVec, kVectors, T> part;
  std::int64_t row = block_first + threadIdx.x / team.size;
  part.load(rows, row, team);
  // All teams of a block make the same number of steps, because they share barriers.
  for (std::int64_t first = block_first; first < rows.n_rows; first += step, row += step) {
    RowPart<kVec, kVectors, T> next;
    if constexpr (kReadsAhead) next.load(rows, row + step, team);
    keep_packed(weight);
    const int columns = row < rows.n_rows ? rows.n_columns : 0;
    const bool adds = rows.sum_gradient != nullptr;
    Vector<T, kVec> more[kVectors];
    if (adds) {
      load_row(more, rows.sum_gradient + row * rows.n_columns, team, columns, T(C(0)));
    }
    RowSums<C> sums = {C(0), C(0)};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const auto x = unpack(part.x[v]);
      const auto g = unpack(part.gradient[v]);
      const auto w = unpack(weight[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C normal = (x.value[i] - part.mean) * part.rstd;
        const C scaled = g.value[i] * w.value[i];
        sums.flat += scaled;
        sums.along += scaled * normal;
        weight_sums[v].value[i] += g.value[i] * normal;
        bias_sums[v].value[i] += g.value[i];
      }
    }
    sums = combine_team(team, sums, RowSums<C>{C(0), C(0)}, scratch, RowSums<C>::combine);
    const C flat = rows.centred ? -sums.flat * share * part.rstd : C(0);
    const C along = -sums.along * share * part.rstd;
    keep_packed(weight);
    keep_packed(part.x);
    keep_packed(part.gradient);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = team.column<kVec>(v);
      if (column >= columns) continue;
      const auto x = unpack(part.x[v]);
      auto g = unpack(part.gradient[v]);
      const auto w = unpack(weight[v]);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const C normal = (x.value[i] - part.mean) * part.rstd;
        g.value[i] = normal * along + (g.value[i] * w.value[i] * part.rstd + flat);
      }
      if (adds) {
        const auto m = unpack(more[v]);
#pragma unroll
        for (int i = 0; i < kVec; ++i) g.value[i] += m.value[i];
      }
      store_vector(rows.x_gradient + row * rows.n_columns + column, pack<T>(g));
    }
    if constexpr (kReadsAhead) {
      part = next;
    } else {
      part.load(rows, row + step, team);
    }
  }
  if (rows.partial == nullptr) return;
  store_partial(team, rows.n_columns, rows.partial, weight_sums, bias_sums);
}

template <int kVec, int kVectors, class T>
bool gradient_in_registers(StreamView stream, NormGradientRows<T> rows, T* weight_gradient,
                           T* bias_gradient) {
  using Plan = NormGradientPlan<kVectors>;
  RowPlan plan = plan_rows(rows.n_columns, kVec, kVec > 1 ? kVectors : 4, kVectors);
  if (!plan.fits()) return false;
  if (kVectors == 3) plan.threads = Plan::kBlock;
  const std::int64_t teams = plan.rows_per_block();
  const std::int64_t least = teams * kLeastRows;
  const std::int64_t blocks =
      std::min(Plan::kAllThreads / plan.threads, (rows.n_rows + least - 1) / least);
  const Buffer space = allocate_partial(stream, rows, blocks,
                                        weight_gradient != nullptr || bias_gradient != nullptr);
  const std::size_t shared =
      teams > 1 && rows.partial != nullptr
          ? static_cast<std::size_t>(teams * 2 * rows.n_columns) * sizeof(Compute<T>)
          : 0;
  launch({"norm_gradient", stream, dim3(static_cast<unsigned>(blocks)),
          dim3(static_cast<unsigned>(plan.threads)), shared},
         norm_gradient_kernel<kVec, kVectors, T>, rows, plan.team);
  add_partials(stream, rows, blocks, weight_gradient, bias_gradient);
  return true;
}

}  // namespace

void norm_gradient(StreamView stream, const Norm& how, const Operand& x, const Operand& weight,
                   const Operand& mean, const Operand& rstd, const Operand& gradient,
                   const Operand& sum_gradient, const Operand& x_gradient,
                   const Operand& weight_gradient, const Operand& bias_gradient) {
  if (how.n_columns == 0) return;
  dispatch_floating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to_weight = static_cast<T*>(weight_gradient.data);
    auto* to_bias = static_cast<T*>(bias_gradient.data);
    if (how.n_rows == 0) {
      const std::size_t bytes = static_cast<std::size_t>(how.n_columns) * sizeof(T);
      for (T* to : {to_weight, to_bias}) {
        if (to != nullptr) {
          driver::fill_async(stream.device().index, to, 0, bytes, stream.handle());
        }
      }
      return;
    }
    const NormGradientRows<T> rows = {{x, weight, mean, rstd, gradient, sum_gradient, x_gradient},
                                      nullptr,
                                      how.n_rows,
                                      static_cast<int>(how.n_columns),
                                      how.op == NormOp::layer};
    constexpr int kWide = vector_width<T>();
    const bool aligned = rows_align(how.n_columns, kWide, sizeof(T), rows.x, rows.weight,
                                    rows.gradient, rows.sum_gradient, rows.x_gradient);
    if constexpr (sizeof(T) < 8) {  // vectors do not help 8-byte elements
      if (aligned && norm_gradient_by_blocks(stream, rows, to_weight, to_bias)) return;
      // Rows within a warp use three vectors per thread where those leave no thread idle, else two.
      const std::int64_t n_vectors = how.n_columns / kWide;
      const bool by_threes = n_vectors <= 3 * 32 && n_vectors % 3 == 0 &&
                             std::has_single_bit(static_cast<std::uint64_t>(n_vectors / 3));
      if (aligned && by_threes &&
          gradient_in_registers<kWide, 3>(stream, rows, to_weight, to_bias)) {
        return;
      }
      const bool by_blocks = n_vectors > 2 * 32;
      if (aligned && by_blocks &&
          gradient_in_registers<kWide, 1>(stream, rows, to_weight, to_bias)) {
        return;
      }
      if (aligned && gradient_in_registers<kWide, 2>(stream, rows, to_weight, to_bias)) return;
    }
    if (gradient_in_registers<1, kSingles<T>>(stream, rows, to_weight, to_bias)) return;
    norm_gradient_of_long_rows(stream, rows, aligned, to_weight, to_bias);
  });
}

}  // namespace causeway::kernels::cuda
