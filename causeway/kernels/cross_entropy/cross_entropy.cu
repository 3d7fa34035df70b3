// Cross entropy with its gradient. Bytes: the logits once, the gradient once; bound by memory.
// Short rows are kept in the registers of a few lanes. A block keeps a long row in shared memory
// while it finds the maximum and the sum; a row that does not fit there is read again.
#include "causeway/kernels/cross_entropy/cross_entropy.h"

#include "causeway/kernels/cross_entropy/cross_entropy_whole.cuh"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/reduce/reduce.cuh"

namespace causeway::kernels::cuda {

namespace {

template <int kVec>
constexpr int kHeld = kVec > 1 ? 4 : 8;  // vectors of a row in a thread's registers

// Short rows with class targets: one team of lanes each.
template <int kVec, class T>
__global__ void __launch_bounds__(kThreads) cross_entropy_kernel(LossRows<T> rows, int team_size) {
  using C = Compute<T>;
  constexpr int kVectors = kHeld<kVec>;
  __shared__ ClassSums<C> memory[64];
  TeamScratch<ClassSums<C>> scratch(memory);
  const Team team(team_size);
  const std::int64_t row =
      std::int64_t{blockIdx.x} * (kThreads / team.size) + threadIdx.x / team.size;
  const bool live = row < rows.n_rows;
  const int columns = live ? rows.n_columns : 0;
  const int target = live ? rows.target(row, team.rank == 0) : -1;
  const C scale = rows.scale != nullptr ? *rows.scale : C(1);
  const C base = rows.base(row * rows.n_columns, target);
  Vector<T, kVec> loaded[kVectors];
  load_row(loaded, rows.logits + row * rows.n_columns, team, columns,
           static_cast<T>(minus_infinity<C>()));
  Values<C, kVec> part[kVectors];
  auto sums = ClassSums<C>::none();
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    part[v] = unpack(loaded[v]);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const C x = part[v].value[i];
      sums.softmax.max = larger(sums.softmax.max, x);
      if (column < columns) sums.total += base - x;
      if (column + i == target) sums.at_target = x;
    }
  }
  const C max = sums.softmax.max;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      C& value = part[v].value[i];
      value = MaxSum<C>::term(value, max);
      sums.softmax.sum += value;
    }
  }
  sums = combine_team(team, sums, ClassSums<C>::none(), scratch, ClassSums<C>::combine);
  if (live && team.rank == 0) {
    rows.losses[row] = target < 0 ? C(0) : class_loss(sums, rows.n_columns, rows.smoothing, base);
  }
  if (rows.gradient == nullptr) return;
  const C factor = MaxSum<C>::rescale(max, sums.softmax.max) / sums.softmax.sum * scale;
  const C spread = rows.smoothing / static_cast<C>(rows.n_columns) * scale;
  const C peak = (C(1) - rows.smoothing) * scale;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = team.column<kVec>(v);
    if (column >= columns) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      C& value = part[v].value[i];
      value = value * factor - (spread + (column + i == target ? peak : C(0)));
      if (target < 0) value = C(0);
    }
    store_vector(rows.gradient + row * rows.n_columns + column, pack<T>(part[v]));
  }
}

// Smoothed target probabilities.
template <class C>
struct Probabilities {
  C keep;    // 1 - smoothing
  C spread;  // smoothing / n_columns

  __device__ __forceinline__ C of(C probability) const { return keep * probability + spread; }
};

// An element's term of its row's loss; 0 if its target is 0, whatever the logit.
template <class C>
__device__ __forceinline__ C loss_term(C target, C x, C max, C log_sum) {
  return target == C(0) ? C(0) : target * (log_sum + (max - x));
}

// Long rows, and rows with probabilities: one block each.
template <class T>
__global__ void __launch_bounds__(kRowThreads, 2)
    cross_entropy_long_kernel(LossRows<T> rows, bool cached, bool alike) {
  using C = Compute<T>;
  constexpr int kVec = vector_width<T>();
  constexpr int kUnroll = 4;
  extern __shared__ __align__(16) unsigned char cache_memory[];
  auto* cache = reinterpret_cast<T*>(cache_memory);
  __shared__ ClassSums<C> memory[64];
  __shared__ C loss_memory[64];
  TeamScratch<ClassSums<C>> scratch(memory);
  TeamScratch<C> loss_scratch(loss_memory);
  const Team team(static_cast<int>(blockDim.x));
  const std::int64_t first = std::int64_t{blockIdx.x} * rows.n_columns;
  const VectorRow<kVec, const T> row(rows.logits + first, rows.n_columns);
  const int n_vectors = row.n_vectors();
  const bool by_class = rows.classes != nullptr;
  const int target = by_class ? rows.target(blockIdx.x, team.rank == 0) : -1;
  if (by_class && target < 0) {
    if (team.rank == 0) rows.losses[blockIdx.x] = C(0);
    if (rows.gradient == nullptr) return;
    Vector<T, kVec> zeros;
#pragma unroll
    for (int i = 0; i < kVec; ++i) zeros.value[i] = T(C(0));
    for (int v = team.rank; v < n_vectors; v += team.size) {
      row.store(v, rows.gradient + first, alike, zeros);
    }
    return;
  }
  const T fill = static_cast<T>(minus_infinity<C>());
  const T* probabilities = by_class ? nullptr : rows.probabilities + first;
  const Probabilities<C> smoothed = {C(1) - rows.smoothing,
                                     rows.smoothing / static_cast<C>(rows.n_columns)};
  const C base = rows.base(first, target);
  auto sums = ClassSums<C>::none();
  if (by_class && team.rank == 0) sums.at_target = static_cast<C>(rows.logits[first + target]);
  for (int begin = team.rank; begin < n_vectors; begin += kUnroll * team.size) {
    Vector<T, kVec> loaded[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = begin + u * team.size;
      if (v < n_vectors) {
        loaded[u] = row.load(v, fill);
      } else {
#pragma unroll
        for (int i = 0; i < kVec; ++i) loaded[u].value[i] = fill;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int v = begin + u * team.size;
      if (v >= n_vectors) continue;
      if (cached) store_shared(cache + v * kVec, loaded[u]);
      if (by_class && rows.smoothing == C(0)) continue;
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const int at = row.column(v) + i;
        if (at < 0 || at >= rows.n_columns) continue;
        sums.total += by_class ? base - static_cast<C>(loaded[u].value[i])
                               : smoothed.of(static_cast<C>(probabilities[at]));
      }
    }
    include_vectors(sums.softmax, loaded);
  }
  sums = combine_team(team, sums, ClassSums<C>::none(), scratch, ClassSums<C>::combine);
  if (by_class && team.rank == 0) {
    rows.losses[blockIdx.x] = class_loss(sums, rows.n_columns, rows.smoothing, base);
  }
  if (by_class && rows.gradient == nullptr) return;
  const C scale = rows.scale != nullptr ? *rows.scale : C(1);
  const C max = sums.softmax.max;
  const C log_sum = math::log(sums.softmax.sum);
  // The probabilities may not add up to 1: the softmax is scaled by their sum.
  const C factor = (by_class ? scale : scale * sums.total) / sums.softmax.sum;
  const C spread = smoothed.spread * scale;
  C loss = C(0);
#pragma unroll 2
  for (int v = team.rank; v < n_vectors; v += team.size) {
    auto values = unpack(cached ? load_vector<kVec>(cache + v * kVec) : row.load(v, fill));
    const int column = row.column(v);
    if (by_class) {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        C& value = values.value[i];
        value = MaxSum<C>::term(value, max) * factor - spread;
      }
      // Only one vector of the row contains the target.
      if (target >= column && target < column + kVec) {
#pragma unroll
        for (int i = 0; i < kVec; ++i) {
          if (column + i == target) values.value[i] -= smoothed.keep * scale;
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        const int at = column + i;
        if (at < 0 || at >= rows.n_columns) continue;
        C& value = values.value[i];
        const C wanted = smoothed.of(static_cast<C>(probabilities[at]));
        loss += loss_term(wanted, value, max, log_sum);
        value = MaxSum<C>::term(value, max) * factor - wanted * scale;
      }
    }
    if (rows.gradient != nullptr) row.store(v, rows.gradient + first, alike, pack<T>(values));
  }
  if (by_class) return;
  loss = sum_team(team, loss, loss_scratch);
  if (team.rank == 0) rows.losses[blockIdx.x] = loss;
}

template <int kVec, class T>
bool short_rows(StreamView stream, const LossRows<T>& rows) {
  const RowPlan plan = plan_rows(rows.n_columns, kVec, 4, kHeld<kVec>);
  if (!plan.fits() || plan.team > 32) return false;
  const std::int64_t per_block = plan.rows_per_block();
  launch({"cross_entropy", stream,
          dim3(static_cast<unsigned>((rows.n_rows + per_block - 1) / per_block)), dim3(kThreads)},
         cross_entropy_kernel<kVec, T>, rows, plan.team);
  return true;
}

template <class T>
void long_rows(StreamView stream, const LossRows<T>& rows) {
  constexpr int kVec = vector_width<T>();
  const std::size_t bytes = static_cast<std::size_t>(rows.n_columns + 2 * kVec) * sizeof(T);
  const bool reads_twice = rows.gradient != nullptr || rows.classes == nullptr;
  const bool cached = reads_twice && bytes <= shared_memory_limit(stream);
  const bool whole = cached && rows.gradient != nullptr && rows.classes != nullptr &&
                     rows.n_columns >= kRowThreads * kVec &&
                     rows_align(rows.n_columns, kVec, sizeof(T), rows.logits, rows.gradient);
  if (whole) {
    return launch({"cross_entropy", stream, dim3(static_cast<unsigned>(rows.n_rows)),
                   dim3(kRowThreads), bytes},
                  cross_entropy_whole_kernel<T>, rows);
  }
  const int threads = std::clamp((rows.n_columns / kVec / 4 + 31) / 32 * 32, 32, kRowThreads);
  launch({"cross_entropy", stream, dim3(static_cast<unsigned>(rows.n_rows)),
          dim3(static_cast<unsigned>(threads)), cached ? bytes : 0},
         cross_entropy_long_kernel<T>, rows, cached, same_alignment(rows.logits, rows.gradient));
}

// Counts the targets that are not ignored; the result is the inverse of their number.
template <class R>
struct CountedWeight {
  using Acc = std::int64_t;
  using Result = R;
  std::int64_t ignored = 0;
  CAUSEWAY_HOST_DEVICE Acc identity() const { return 0; }
  CAUSEWAY_HOST_DEVICE Acc load(std::int64_t index, std::int64_t) const {
    return index == ignored ? 0 : 1;
  }
  CAUSEWAY_HOST_DEVICE Acc combine(Acc a, Acc b) const { return a + b; }
  CAUSEWAY_HOST_DEVICE Result finish(Acc count) const {
    return count > 0 ? R(1) / static_cast<R>(count) : R(0);
  }
};

}  // namespace

void target_weight(StreamView stream, const CrossEntropy& how, const Operand& targets,
                   const Operand& out) {
  const Cube cube = {1, how.n_rows, 1};
  const auto* from = static_cast<const std::int64_t*>(targets.data);
  if (out.dtype == DType::f64) {
    return reduce_rows<std::int64_t>(stream, CountedWeight<double>{how.ignore_index}, from,
                                     static_cast<double*>(out.data), cube);
  }
  reduce_rows<std::int64_t>(stream, CountedWeight<float>{how.ignore_index}, from,
                            static_cast<float*>(out.data), cube);
}

void cross_entropy(StreamView stream, const CrossEntropy& how, const Operand& logits,
                   const Operand& targets, const Operand& scale, const Operand& losses,
                   const Operand& gradient) {
  if (how.n_rows == 0 || how.n_columns == 0) return;
  const bool by_class = targets.dtype == DType::i64;
  dispatch_floating(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const LossRows<T> rows = {static_cast<const T*>(logits.data),
                              by_class ? static_cast<const std::int64_t*>(targets.data) : nullptr,
                              by_class ? nullptr : static_cast<const T*>(targets.data),
                              static_cast<const C*>(scale.data),
                              static_cast<C*>(losses.data),
                              static_cast<T*>(gradient.data),
                              how.n_rows,
                              static_cast<int>(how.n_columns),
                              how.ignore_index,
                              static_cast<C>(how.smoothing),
                              make_check(stream, FaultSite::cross_entropy, 1, how.n_columns)};
    if (!by_class) return long_rows(stream, rows);
    if constexpr (sizeof(T) < 8) {  // vectors do not help 8-byte elements
      constexpr int kWide = vector_width<T>();
      const bool aligned = rows_align(how.n_columns, kWide, sizeof(T), rows.logits, rows.gradient);
      if (aligned && short_rows<kWide>(stream, rows)) return;
    }
    if (short_rows<1>(stream, rows)) return;
    long_rows(stream, rows);
  });
}

}  // namespace causeway::kernels::cuda
