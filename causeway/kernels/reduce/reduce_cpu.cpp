// Reductions on the CPU. The order is fixed by the shape: the axis is divided into pieces of a
// fixed length, each piece is summed pairwise, and the pieces are summed pairwise, so that any
// number of threads gives the same bits. Bound by memory: the input is read once.
#include "causeway/kernels/reduce/extremes_cpu.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/reduce/visit_reduce.h"
#include "causeway/runtime/threads.h"

#include <array>
#include <limits>
#include <type_traits>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kLanes = 32;       // independent accumulators of a run
constexpr std::int64_t kRun = 256;        // elements summed lane by lane
constexpr std::int64_t kPiece = 1 << 16;  // elements of the axis per task
constexpr std::int64_t kColumns = 2048;   // columns per task: long runs of every row
constexpr std::int64_t kRowRun = 32;      // rows summed sequentially

template <class Reducer>
using Acc = typename Reducer::Acc;

template <class Reducer, class T>
Acc<Reducer> reduce_run(const Reducer& reducer, const T* in, std::int64_t first,
                        std::int64_t count) {
  std::array<Acc<Reducer>, kLanes> lanes;
  lanes.fill(reducer.identity());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      auto& slot = lanes[static_cast<std::size_t>(lane)];
      slot = reducers::include(reducer, slot, in[i + lane], first + i + lane);
    }
  }
  for (; i < count; ++i) {
    auto& slot = lanes[static_cast<std::size_t>(i % kLanes)];
    slot = reducers::include(reducer, slot, in[i], first + i);
  }
  for (std::int64_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::int64_t lane = 0; lane < step; ++lane) {
      auto& slot = lanes[static_cast<std::size_t>(lane)];
      slot = reducer.combine(slot, lanes[static_cast<std::size_t>(lane + step)]);
    }
  }
  return lanes[0];
}

// Pairwise, down to runs.
template <class Reducer, class T>
Acc<Reducer> reduce_piece(const Reducer& reducer, const T* in, std::int64_t first,
                          std::int64_t count) {
  if (count <= kRun) return reduce_run(reducer, in, first, count);
  const std::int64_t half = (count / 2 + kRun - 1) / kRun * kRun;
  const auto left = reduce_piece(reducer, in, first, half);
  return reducer.combine(left, reduce_piece(reducer, in + half, first + half, count - half));
}

// Extremes are the same in any order and need no pairwise reduction.
template <class Better, class T>
Compute<T> reduce_extreme(const T* in, std::int64_t count) {
  using C = Compute<T>;
  const auto extreme = extreme_of<Better>(in, count);
  return extreme.nan ? std::numeric_limits<C>::quiet_NaN() : extreme.value;
}

template <class T>
Compute<T> reduce_piece(const reducers::Minimum<T>&, const T* in, std::int64_t,
                        std::int64_t count) {
  return reduce_extreme<functors::Less>(in, count);
}

template <class T>
Compute<T> reduce_piece(const reducers::Maximum<T>&, const T* in, std::int64_t,
                        std::int64_t count) {
  return reduce_extreme<functors::Greater>(in, count);
}

template <class T, class Better>
reducers::Place<Compute<T>> reduce_piece(const reducers::ArgExtreme<T, Better>&, const T* in,
                                         std::int64_t first, std::int64_t count) {
  const auto place = place_of_extreme<Better>(in, count);
  return {place.value, first + place.index};
}

// Pairwise; `step` is the stride of `partial`.
template <class Reducer>
Acc<Reducer> combine_all(const Reducer& reducer, const Acc<Reducer>* partial, std::int64_t count,
                         std::int64_t step) {
  if (count == 1) return partial[0];
  const std::int64_t half = count / 2;
  const auto left = combine_all(reducer, partial, half, step);
  return reducer.combine(left, combine_all(reducer, partial + half * step, count - half, step));
}

// inner == 1: each output reduces a contiguous row.
template <class Reducer, class T>
void reduce_rows(const Reducer& reducer, const T* in, typename Reducer::Result* out, Cube cube) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (cube.axis + kPiece - 1) / kPiece);
  const std::int64_t grain =
      std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(cube.axis, 1));
  if (pieces == 1) {
    return parallel_for(cube.outer, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        out[row] = reducer.finish(reduce_piece(reducer, in + row * cube.axis, 0, cube.axis));
      }
    });
  }
  std::vector<Acc<Reducer>> partial(static_cast<std::size_t>(cube.outer * pieces));
  parallel_for(cube.outer * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / pieces;
      const std::int64_t first = task % pieces * kPiece;
      partial[static_cast<std::size_t>(task)] = reduce_piece(
          reducer, in + row * cube.axis + first, first, std::min(kPiece, cube.axis - first));
    }
  });
  for (std::int64_t row = 0; row < cube.outer; ++row) {
    out[row] = reducer.finish(combine_all(reducer, partial.data() + row * pieces, pieces, 1));
  }
}

// Reduces rows [first, first + count) of `columns` adjacent columns into `acc`.
template <class Reducer, class T>
void reduce_block(const Reducer& reducer, const T* in, std::int64_t first, std::int64_t count,
                  std::int64_t inner, std::int64_t columns, Acc<Reducer>* acc) {
  if (count <= kRowRun) {
    for (std::int64_t c = 0; c < columns; ++c) acc[c] = reducer.identity();
    std::int64_t r = first;
    if constexpr (!requires(Acc<Reducer> a) { reducer.include(a, in[0], r); }) {
      // Eight rows at a time: the accumulators are read and written an eighth as often.
      for (; r + 8 <= first + count; r += 8) {
        const T* row = in + r * inner;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) {
          const auto two = [&](std::int64_t k) CAUSEWAY_INLINE {
            return reducer.combine(reducer.load(row[c + k * inner], r),
                                   reducer.load(row[c + (k + 1) * inner], r));
          };
          const auto upper = reducer.combine(two(0), two(2));
          acc[c] = reducer.combine(acc[c], reducer.combine(upper, reducer.combine(two(4), two(6))));
        }
      }
    }
    for (; r < first + count; ++r) {
      const T* row = in + r * inner;
      for (std::int64_t c = 0; c < columns; ++c) {
        acc[c] = reducers::include(reducer, acc[c], row[c], r);
      }
    }
    return;
  }
  const std::int64_t half = count / 2;
  std::array<Acc<Reducer>, kColumns> right;
  reduce_block(reducer, in, first, half, inner, columns, acc);
  reduce_block(reducer, in, first + half, count - half, inner, columns, right.data());
  for (std::int64_t c = 0; c < columns; ++c) {
    acc[c] = reducer.combine(acc[c], right[static_cast<std::size_t>(c)]);
  }
}

// inner > 1: a task has some adjacent columns and a fixed number of rows.
template <class Reducer, class T>
void reduce_columns(const Reducer& reducer, const T* in, typename Reducer::Result* out, Cube cube) {
  const std::int64_t blocks = (cube.inner + kColumns - 1) / kColumns;
  const std::int64_t piece =
      std::max<std::int64_t>(64, kPiece / std::min<std::int64_t>(cube.inner, kColumns));
  const std::int64_t pieces = std::max<std::int64_t>(1, (cube.axis + piece - 1) / piece);
  std::vector<Acc<Reducer>> partial(static_cast<std::size_t>(cube.outer * pieces * cube.inner));
  const std::int64_t work = std::min(piece, std::max<std::int64_t>(cube.axis, 1)) *
                            std::min<std::int64_t>(cube.inner, kColumns);
  parallel_for(cube.outer * pieces * blocks, std::max<std::int64_t>(1, 32768 / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) {
                   const std::int64_t column = task % blocks * kColumns;
                   const std::int64_t first = task / blocks % pieces * piece;
                   const std::int64_t outer = task / blocks / pieces;
                   reduce_block(
                       reducer, in + outer * cube.axis * cube.inner + column, first,
                       std::min(piece, cube.axis - first), cube.inner,
                       std::min(kColumns, cube.inner - column),
                       partial.data() + (outer * pieces + first / piece) * cube.inner + column);
                 }
               });
  // The pieces are rows of accumulators, reduced like rows of elements.
  parallel_for(cube.outer * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t column = task % blocks * kColumns;
      const std::int64_t outer = task / blocks;
      const std::int64_t columns = std::min(kColumns, cube.inner - column);
      std::array<Acc<Reducer>, kColumns> acc;
      reduce_block(reducers::Combiner<Reducer>{reducer},
                   partial.data() + outer * pieces * cube.inner + column, 0, pieces, cube.inner,
                   columns, acc.data());
      for (std::int64_t c = 0; c < columns; ++c) {
        out[outer * cube.inner + column + c] = reducer.finish(acc[static_cast<std::size_t>(c)]);
      }
    }
  });
}

template <class T, class Reducer>
void run(const Reducer& reducer, const Operand& in, const Operand& out, Cube cube) {
  const auto* from = static_cast<const T*>(in.data);
  auto* to = static_cast<typename Reducer::Result*>(out.data);
  if (cube.inner == 1) return reduce_rows(reducer, from, to, cube);
  reduce_columns(reducer, from, to, cube);
}

}  // namespace

void reduce(StreamView, ReduceOp op, const Operand& in, const Operand& out, Cube cube) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_reducer<T>(op, cube.axis, [&](auto reducer) { run<T>(reducer, in, out, cube); });
  });
}

void variance(StreamView, const Operand& in, const Operand& out, Cube cube, double correction) {
  dispatch_floating(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    run<T>(reducers::Variance<T>{correction}, in, out, cube);
  });
}

void cumulative_sum(StreamView, const Operand& in, const Operand& out, std::int64_t n_rows,
                    std::int64_t n_columns) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Result = reducers::SumResult<T>;
    // A running f64 sum is as accurate as a pairwise sum for f32, and as fast here.
    using Running = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    const std::int64_t grain = std::max<std::int64_t>(1, 32768 / n_columns);
    parallel_for(n_rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = static_cast<const T*>(in.data) + row * n_columns;
        auto* to = static_cast<Result*>(out.data) + row * n_columns;
        Running sum = 0;
        for (std::int64_t i = 0; i < n_columns; ++i) {
          sum += static_cast<Running>(static_cast<Compute<T>>(from[i]));
          to[i] = static_cast<Result>(static_cast<Compute<Result>>(sum));
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
