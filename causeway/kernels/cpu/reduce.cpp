// Reductions on the CPU. The order is fixed by the shape: the axis is cut into pieces of a fixed
// length, a piece is summed by halves, and the pieces are summed by halves, so that any number of
// threads gives the same bits. Bound by memory: the input is read once.
#include "causeway/kernels/dispatch.h"
#include "causeway/kernels/visit_reduce.h"
#include "causeway/runtime/threads.h"

#include <array>
#include <type_traits>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

constexpr std::int64_t kLanes = 32;       // independent accumulators of a run
constexpr std::int64_t kRun = 256;        // elements summed lane by lane
constexpr std::int64_t kPiece = 1 << 16;  // elements of the axis a task takes
constexpr std::int64_t kColumns = 256;    // columns a task takes
constexpr std::int64_t kRowRun = 32;      // rows summed one after the other

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

// By halves, down to runs.
template <class Reducer, class T>
Acc<Reducer> reduce_piece(const Reducer& reducer, const T* in, std::int64_t first,
                          std::int64_t count) {
  if (count <= kRun) return reduce_run(reducer, in, first, count);
  const std::int64_t half = (count / 2 + kRun - 1) / kRun * kRun;
  const auto left = reduce_piece(reducer, in, first, half);
  return reducer.combine(left, reduce_piece(reducer, in + half, first + half, count - half));
}

// Where the extreme stands: the plain extreme, which vectorises, and then a search for it.
template <class T, class Better>
reducers::Place<Compute<T>> reduce_piece(const reducers::ArgExtreme<T, Better>&, const T* in,
                                         std::int64_t first, std::int64_t count) {
  using Plain = std::conditional_t<std::is_same_v<Better, functors::Less>, reducers::Minimum<T>,
                                   reducers::Maximum<T>>;
  const auto extreme = reduce_piece(Plain(), in, first, count);
  const auto matches = [&](std::int64_t i) {
    const auto value = static_cast<Compute<T>>(in[i]);
    return (value == extreme) | (value != value);  // a NaN is the extreme, wherever there is one
  };
  // Blocks are asked whether they hold a match at all, which vectorises, before one is walked.
  constexpr std::int64_t kBlock = 128;
  std::int64_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
    int found = 0;
    for (std::int64_t i = at; i < at + kBlock; ++i) found |= static_cast<int>(matches(i));
    if (found != 0) break;
  }
  while (at + 1 < count && !matches(at)) ++at;
  return {extreme, first + at};
}

// By halves; `step` elements lie between neighbours.
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

// Reduces rows [first, first + count) of `columns` neighbouring columns into `acc`.
template <class Reducer, class T>
void reduce_block(const Reducer& reducer, const T* in, std::int64_t first, std::int64_t count,
                  std::int64_t inner, std::int64_t columns, Acc<Reducer>* acc) {
  if (count <= kRowRun) {
    for (std::int64_t c = 0; c < columns; ++c) acc[c] = reducer.identity();
    std::int64_t r = first;
    if constexpr (!requires(Acc<Reducer> a) { reducer.include(a, in[0], r); }) {
      // Four rows at a time: the accumulators are read and written a quarter as often.
      for (; r + 4 <= first + count; r += 4) {
        const T* row = in + r * inner;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) {
          const auto upper =
              reducer.combine(reducer.load(row[c], r), reducer.load(row[c + inner], r));
          const auto lower = reducer.combine(reducer.load(row[c + 2 * inner], r),
                                             reducer.load(row[c + 3 * inner], r));
          acc[c] = reducer.combine(acc[c], reducer.combine(upper, lower));
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

// inner > 1: a task takes some neighbouring columns and a fixed number of rows.
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
  parallel_for(cube.outer * cube.inner, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto* start = partial.data() + i / cube.inner * pieces * cube.inner + i % cube.inner;
      out[i] = reducer.finish(combine_all(reducer, start, pieces, cube.inner));
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
    // A running f64 sum is as good as any tree for f32, and as fast here.
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
