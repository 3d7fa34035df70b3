// The gradients of layer and RMS norm. Bytes: x and the gradient read once, x's gradient written
// once; bound by memory: 16384 x 4096 bf16 reach 79% of its peak. A fixed number of blocks walks
// the rows. A thread owns the same columns of every row it meets and adds up their shares of the
// gradients of weight and bias in registers; the blocks' sums are then added in order. What the
// next row needs is on its way while the present one is reduced: its mean and rstd above all, each
// of which is one word at the end of a long wait. Rows too long for registers are read twice more.
#include "causeway/kernels/rows.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/norm/norm.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/pool.h"

namespace causeway::kernels::cuda {

namespace {

// Threads of all blocks, with one vector of a row each and with two: what an H200 holds at once.
constexpr std::int64_t kWalkers[] = {132 * 1024, 132 * 512};
constexpr std::int64_t kLeastRows = 4;  // of a team, where there are enough blocks without

// Vectors of odd rows, which go one by one, in a thread's registers.
template <class T>
constexpr int kSingles = sizeof(T) == 8 ? 4 : 8;

template <class T>
struct NormGradientRows {
  using C = Compute<T>;
  const T* x;
  const T* weight;
  const C* mean;
  const C* rstd;
  const T* gradient;
  const T* sum_gradient;
  T* x_gradient;
  C* partial;  // (blocks, 2, n_columns): shares of the gradients of weight and bias
  std::int64_t n_rows;
  int n_columns;
  bool centred;  // layer norm
};

// The sums of weight * gradient, and of that times the normalised row.
template <class C>
struct RowSums {
  C flat;
  C along;

  static __device__ __forceinline__ RowSums combine(const RowSums& a, const RowSums& b) {
    return {a.flat + b.flat, a.along + b.along};
  }
};

// What a thread reads of one row.
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

// Adds the teams' sums and leaves the block's.
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
__global__ void __launch_bounds__(kRowThreads, kVectors == 1 ? 2 : 1)
    norm_gradient_kernel(NormGradientRows<T> rows, int team_size) {
  using C = Compute<T>;
  constexpr bool kReadsAhead = kVectors > 1;
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
  // Every team of a block makes as many steps as the first, for they reduce together.
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

// Asks for 16 bytes of device memory in shared memory, beside what the thread does meanwhile.
__device__ __forceinline__ void copy_ahead(void* to, const void* from) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}

// Rows that a block of kThreadsOfRow threads shares, a vector of each of kArrays a thread, on their
// way in while others are worked on. A thread reads what it asked for itself: none waits for
// another.
template <int kArrays, int kThreadsOfRow, class T>
struct RowRing {
  static constexpr int kStages = 2;
  static constexpr int kVec = vector_width<T>();
  Vector<T, kVec> memory[kStages][kArrays][kThreadsOfRow];

  // Row `row` of the arrays, into a stage; of a row that is not there, nothing.
  template <class... Arrays>
  __device__ __forceinline__ void ask(int stage, std::int64_t row, std::int64_t n_rows,
                                      const Arrays*... arrays) {
    static_assert(sizeof...(Arrays) == kArrays);
    const std::int64_t at = (row * kThreadsOfRow + threadIdx.x) * kVec;
    int array = 0;
    if (row < n_rows) (copy_ahead(&memory[stage][array++][threadIdx.x], arrays + at), ...);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // Waits for the stage asked for first.
  __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 1) : "memory");
  }
  __device__ __forceinline__ Vector<T, kVec> vector(int stage, int array) const {
    return memory[stage][array][threadIdx.x];
  }
};

template <int kVec>
__device__ __forceinline__ void store_values(float* to, const Values<float, kVec>& values) {
#pragma unroll
  for (int i = 0; i < kVec; i += 4) {
    store_vector(to + i, Vector<float, 4>{{values.value[i], values.value[i + 1],
                                           values.value[i + 2], values.value[i + 3]}});
  }
}

// Rows of exactly one vector a thread of a block, which keeps the row's distances from the mean and
// the scaled gradients as they are between the two passes, while the next rows come in.
template <int kWarps, class T>
__global__ void __launch_bounds__(kWarps * 32, 32 / kWarps)
    norm_gradient_block_kernel(NormGradientRows<T> rows) {
  using C = Compute<T>;
  using Ring = RowRing<2, kWarps * 32, T>;
  constexpr int kVec = vector_width<T>();
  constexpr int kColumns = kWarps * 32 * kVec;
  extern __shared__ __align__(16) unsigned char ring_memory[];
  auto& ring = *reinterpret_cast<Ring*>(ring_memory);
  __shared__ RowSums<C> memory[2][kWarps];
  const int column = static_cast<int>(threadIdx.x) * kVec;
  const std::int64_t step = gridDim.x;
#pragma unroll
  for (int k = 0; k < Ring::kStages; ++k) {
    ring.ask(k, blockIdx.x + k * step, rows.n_rows, rows.x, rows.gradient);
  }
  Vector<T, kVec> weight;
#pragma unroll
  for (int i = 0; i < kVec; ++i) weight.value[i] = T(C(1));
  if (rows.weight != nullptr) weight = load_vector<kVec>(rows.weight + column);
  Values<C, kVec> weight_sums = {};
  Values<C, kVec> bias_sums = {};
  C next_mean = rows.centred ? rows.mean[blockIdx.x] : C(0);
  C next_rstd = rows.rstd[blockIdx.x];
  int stage = 0;
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < rows.n_rows; row += step, turn ^= 1) {
    const C mean = next_mean;
    const C rstd = next_rstd;
    if (row + step < rows.n_rows) {
      if (rows.centred) next_mean = rows.mean[row + step];
      next_rstd = rows.rstd[row + step];
    }
    ring.wait();
    auto distance = unpack(ring.vector(stage, 0));
    const auto g = unpack(ring.vector(stage, 1));
    ring.ask(stage, row + Ring::kStages * step, rows.n_rows, rows.x, rows.gradient);
    stage = stage + 1 == Ring::kStages ? 0 : stage + 1;
    auto scaled = unpack(weight);
    RowSums<C> sums = {C(0), C(0)};
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      distance.value[i] -= mean;
      scaled.value[i] *= g.value[i];
      sums.flat += scaled.value[i];
      sums.along += scaled.value[i] * distance.value[i];
      weight_sums.value[i] += g.value[i] * (distance.value[i] * rstd);
      bias_sums.value[i] += g.value[i];
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      sums = RowSums<C>::combine(sums, shuffle_xor(sums, mask));
    }
    if (threadIdx.x % 32 == 0) memory[turn][threadIdx.x / 32] = sums;
    __syncthreads();
    sums = memory[turn][threadIdx.x % kWarps];
#pragma unroll
    for (int mask = kWarps / 2; mask > 0; mask /= 2) {
      sums = RowSums<C>::combine(sums, shuffle_xor(sums, mask));
    }
    const C share = -rstd * (C(1) / C(kColumns));
    const C flat = rows.centred ? sums.flat * share : C(0);
    const C along = sums.along * share * rstd * rstd;
    Values<C, kVec> result;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      result.value[i] = distance.value[i] * along + (scaled.value[i] * rstd + flat);
    }
    const std::int64_t at = row * kColumns + column;
    if (rows.sum_gradient != nullptr) {
      const auto more = unpack(load_vector<kVec>(rows.sum_gradient + at));
#pragma unroll
      for (int i = 0; i < kVec; ++i) result.value[i] += more.value[i];
    }
    store_vector(rows.x_gradient + at, pack<T>(result));
  }
  if (rows.partial == nullptr) return;
  C* to = rows.partial + std::int64_t{blockIdx.x} * 2 * kColumns + column;
  store_values(to, weight_sums);
  store_values(to + kColumns, bias_sums);
}

// Long rows: a block each, read once for the sums and once for the result.
template <int kVec, class T>
__global__ void __launch_bounds__(kRowThreads) norm_gradient_long_kernel(NormGradientRows<T> rows) {
  using C = Compute<T>;
  __shared__ RowSums<C> memory[64];
  TeamScratch<RowSums<C>> scratch(memory);
  const Team team(kRowThreads);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows.n_columns;
  const C mean = rows.centred ? rows.mean[blockIdx.x] : C(0);
  const C rstd = rows.rstd[blockIdx.x];
  const auto load = [&](int column, Values<C, kVec>& normal, Values<C, kVec>& scaled) {
    normal = unpack(load_vector<kVec>(rows.x + first + column));
    scaled = unpack(load_vector<kVec>(rows.gradient + first + column));
#pragma unroll
    for (int i = 0; i < kVec; ++i) normal.value[i] = (normal.value[i] - mean) * rstd;
    if (rows.weight == nullptr) return;
    const auto w = unpack(load_vector<kVec>(rows.weight + column));
#pragma unroll
    for (int i = 0; i < kVec; ++i) scaled.value[i] *= w.value[i];
  };
  RowSums<C> sums = {C(0), C(0)};
  Values<C, kVec> normal;
  Values<C, kVec> scaled;
#pragma unroll 2
  for (int column = team.rank * kVec; column < rows.n_columns; column += kRowThreads * kVec) {
    load(column, normal, scaled);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      sums.flat += scaled.value[i];
      sums.along += scaled.value[i] * normal.value[i];
    }
  }
  sums = combine_team(team, sums, RowSums<C>{C(0), C(0)}, scratch, RowSums<C>::combine);
  const C flat = rows.centred ? sums.flat / static_cast<C>(rows.n_columns) : C(0);
  const C along = sums.along / static_cast<C>(rows.n_columns);
#pragma unroll 2
  for (int column = team.rank * kVec; column < rows.n_columns; column += kRowThreads * kVec) {
    load(column, normal, scaled);
    Values<C, kVec> result;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      result.value[i] = rstd * (scaled.value[i] - flat - normal.value[i] * along);
    }
    if (rows.sum_gradient != nullptr) {
      const auto more = unpack(load_vector<kVec>(rows.sum_gradient + first + column));
#pragma unroll
      for (int i = 0; i < kVec; ++i) result.value[i] += more.value[i];
    }
    store_vector(rows.x_gradient + first + column, pack<T>(result));
  }
}

// The columns' sums over a piece of the rows, a thread a column. They come first: the result may
// stand where the gradient did.
template <class T>
__global__ void __launch_bounds__(kThreads)
    norm_columns_kernel(NormGradientRows<T> rows, std::int64_t piece) {
  using C = Compute<T>;
  const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (column >= rows.n_columns) return;
  const std::int64_t begin = blockIdx.y * piece;
  const std::int64_t end = begin + piece < rows.n_rows ? begin + piece : rows.n_rows;
  C weight_sum = C(0);
  C bias_sum = C(0);
#pragma unroll 8
  for (std::int64_t row = begin; row < end; ++row) {
    const C g = static_cast<C>(rows.gradient[row * rows.n_columns + column]);
    const C x = static_cast<C>(rows.x[row * rows.n_columns + column]);
    const C mean = rows.centred ? rows.mean[row] : C(0);
    weight_sum += g * ((x - mean) * rows.rstd[row]);
    bias_sum += g;
  }
  C* to = rows.partial + std::int64_t{blockIdx.y} * 2 * rows.n_columns + column;
  to[0] = weight_sum;
  to[rows.n_columns] = bias_sum;
}

constexpr int kSumColumns = 32;  // columns of a block that adds partial sums, and threads a column

// The partial sums of a column, added in an order fixed by their number.
template <class T>
__global__ void __launch_bounds__(kSumColumns* kSumColumns)
    add_partials_kernel(const Compute<T>* partial, int n_pieces, int n_columns, T* weight_gradient,
                        T* bias_gradient) {
  using C = Compute<T>;
  __shared__ C memory[kSumColumns][kSumColumns + 1];
  wait_for_previous();
  T* out = blockIdx.y == 0 ? weight_gradient : bias_gradient;
  if (out == nullptr) return;
  const int column = static_cast<int>(blockIdx.x * kSumColumns + threadIdx.x);
  C sum = C(0);
  if (column < n_columns) {
    const C* from = partial + std::int64_t{blockIdx.y} * n_columns + column;
#pragma unroll 8
    for (int piece = static_cast<int>(threadIdx.y); piece < n_pieces; piece += kSumColumns) {
      sum += from[std::int64_t{piece} * 2 * n_columns];
    }
  }
  memory[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  for (unsigned height = kSumColumns / 2; height > 0; height /= 2) {
    if (threadIdx.y < height) {
      memory[threadIdx.y][threadIdx.x] += memory[threadIdx.y + height][threadIdx.x];
    }
    __syncthreads();
  }
  if (threadIdx.y == 0 && column < n_columns) out[column] = static_cast<T>(memory[0][threadIdx.x]);
}

// The partial sums' space, where there are gradients to add them up to.
template <class T>
Buffer allocate_partial(StreamView stream, NormGradientRows<T>& rows, std::int64_t n_pieces,
                        bool wanted) {
  Buffer space;
  if (wanted) {
    space =
        pool_of(stream.device())
            .allocate(static_cast<std::size_t>(n_pieces * 2 * rows.n_columns) * sizeof(Compute<T>),
                      stream);
  }
  rows.partial = reinterpret_cast<Compute<T>*>(space.data());
  return space;
}

template <class T>
void add_partials(StreamView stream, const NormGradientRows<T>& rows, std::int64_t n_pieces,
                  T* weight_gradient, T* bias_gradient) {
  if (rows.partial == nullptr) return;
  const dim3 grid(static_cast<unsigned>((rows.n_columns + kSumColumns - 1) / kSumColumns), 2);
  const Launch how("norm_gradient", stream, grid, dim3(kSumColumns, kSumColumns));
  launch(how.overlapping(), add_partials_kernel<T>, rows.partial, static_cast<int>(n_pieces),
         rows.n_columns, weight_gradient, bias_gradient);
}

template <int kVec, int kVectors, class T>
bool gradient_in_registers(StreamView stream, NormGradientRows<T> rows, T* weight_gradient,
                           T* bias_gradient) {
  const RowPlan plan = plan_rows(rows.n_columns, kVec, kVec > 1 ? kVectors : 4, kVectors);
  if (!plan.fits()) return false;
  const std::int64_t teams = plan.rows_per_block();
  const std::int64_t least = teams * kLeastRows;
  const std::int64_t blocks =
      std::min(kWalkers[kVectors == 1 ? 0 : 1] / plan.threads, (rows.n_rows + least - 1) / least);
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

template <int kWarps, class T>
bool gradient_with(StreamView stream, NormGradientRows<T> rows, T* weight_gradient,
                   T* bias_gradient) {
  constexpr int kThreadsOfRow = kWarps * 32;
  if (rows.n_columns != kThreadsOfRow * vector_width<T>()) return false;
  const std::int64_t blocks =
      std::min(kWalkers[0] / kThreadsOfRow, (rows.n_rows + kLeastRows - 1) / kLeastRows);
  const Buffer space = allocate_partial(stream, rows, blocks,
                                        weight_gradient != nullptr || bias_gradient != nullptr);
  launch({"norm_gradient", stream, dim3(static_cast<unsigned>(blocks)), dim3(kThreadsOfRow),
          sizeof(RowRing<2, kThreadsOfRow, T>)},
         norm_gradient_block_kernel<kWarps, T>, rows);
  add_partials(stream, rows, blocks, weight_gradient, bias_gradient);
  return true;
}

template <class T>
bool gradient_by_blocks(StreamView stream, const NormGradientRows<T>& rows, T* weight_gradient,
                        T* bias_gradient) {
  return gradient_with<4>(stream, rows, weight_gradient, bias_gradient) ||
         gradient_with<8>(stream, rows, weight_gradient, bias_gradient) ||
         gradient_with<16>(stream, rows, weight_gradient, bias_gradient);
}

template <class T>
void gradient_of_long_rows(StreamView stream, NormGradientRows<T> rows, bool aligned,
                           T* weight_gradient, T* bias_gradient) {
  if (weight_gradient != nullptr || bias_gradient != nullptr) {
    const std::int64_t n_pieces = std::clamp<std::int64_t>(rows.n_rows / 32, 1, 64);
    const std::int64_t piece = (rows.n_rows + n_pieces - 1) / n_pieces;
    const Buffer space = allocate_partial(stream, rows, n_pieces, true);
    const auto column_blocks = static_cast<unsigned>((rows.n_columns + kThreads - 1) / kThreads);
    launch({"norm_gradient", stream, dim3(column_blocks, static_cast<unsigned>(n_pieces)),
            dim3(kThreads)},
           norm_columns_kernel<T>, rows, piece);
    add_partials(stream, rows, n_pieces, weight_gradient, bias_gradient);
  }
  launch(
      {"norm_gradient", stream, dim3(static_cast<unsigned>(rows.n_rows)), dim3(kRowThreads)},
      aligned ? norm_gradient_long_kernel<vector_width<T>(), T> : norm_gradient_long_kernel<1, T>,
      rows);
}

}  // namespace

void norm_gradient(StreamView stream, const Norm& how, const Operand& x, const Operand& weight,
                   const Operand& mean, const Operand& rstd, const Operand& gradient,
                   const Operand& sum_gradient, const Operand& x_gradient,
                   const Operand& weight_gradient, const Operand& bias_gradient) {
  if (how.n_columns == 0) return;
  dispatch_floating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
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
    const NormGradientRows<T> rows = {static_cast<const T*>(x.data),
                                      static_cast<const T*>(weight.data),
                                      static_cast<const C*>(mean.data),
                                      static_cast<const C*>(rstd.data),
                                      static_cast<const T*>(gradient.data),
                                      static_cast<const T*>(sum_gradient.data),
                                      static_cast<T*>(x_gradient.data),
                                      nullptr,
                                      how.n_rows,
                                      static_cast<int>(how.n_columns),
                                      how.op == NormOp::layer};
    constexpr int kWide = vector_width<T>();
    const bool aligned = rows_align(how.n_columns, kWide, sizeof(T), rows.x, rows.weight,
                                    rows.gradient, rows.sum_gradient, rows.x_gradient);
    if constexpr (sizeof(T) < 8) {  // 8-byte elements are as fast one by one
      if (aligned && gradient_by_blocks(stream, rows, to_weight, to_bias)) return;
      // Rows that a warp shares keep two vectors a thread.
      const bool by_blocks = how.n_columns > 2 * 32 * kWide;
      if (aligned && by_blocks &&
          gradient_in_registers<kWide, 1>(stream, rows, to_weight, to_bias)) {
        return;
      }
      if (aligned && gradient_in_registers<kWide, 2>(stream, rows, to_weight, to_bias)) return;
    }
    if (gradient_in_registers<1, kSingles<T>>(stream, rows, to_weight, to_bias)) return;
    gradient_of_long_rows(stream, rows, aligned, to_weight, to_bias);
  });
}

}  // namespace causeway::kernels::cuda
