// Arithmetic on columns, the building blocks of all mechanisms. Each function ends with a barrier,
// its results visible to the whole team.
#pragma once

#include "causeway/prior/device/workspace.h"

namespace causeway::prior {

// One CPU thread: blocks of rows and outputs, so that vectors stay in registers.
template <class W>
CAUSEWAY_HOST_DEVICE void multiply_blocks(W& w, Columns x, const float* m, Columns out) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kOuts = 2;
  const int n_in = x.n_columns;
  for_rows(w.team, w.n_rows, [&](int row) {
    for (int o = 0; o < out.n_columns; o += kOuts) {
      const int here = out.n_columns - o < kOuts ? out.n_columns - o : kOuts;
      const float* from[kOuts];
      for (int k = 0; k < kOuts; ++k) {
        from[k] = m + static_cast<std::int64_t>(o + (k < here ? k : 0)) * n_in;
      }
      float sum[kOuts][kRows] = {};
      for (int i = 0; i < n_in; ++i) {
        const float* value = x.column(i) + row;
        for (int k = 0; k < kOuts; ++k) {
          const float factor = from[k][i];
          for (int b = 0; b < kRows; ++b) sum[k][b] = elementary::fma(value[b], factor, sum[k][b]);
        }
      }
      for (int k = 0; k < here; ++k) {
        for (int b = 0; b < kRows; ++b) out.column(o + k)[row + b] = sum[k][b];
      }
    }
  });
}

inline constexpr int kTile = 8;  // outputs per GPU thread at a time, or twice as many

template <int kWide>
CAUSEWAY_HOST_DEVICE void load_tile(const float* from, float (&values)[kWide]) {
#if defined(__CUDA_ARCH__)
  CAUSEWAY_UNROLL
  for (int k = 0; k < kWide; k += 4) {
    const float4 four = *reinterpret_cast<const float4*>(from + k);
    values[k] = four.x, values[k + 1] = four.y, values[k + 2] = four.z, values[k + 3] = four.w;
  }
#else
  for (int k = 0; k < kWide; ++k) values[k] = from[k];
#endif
}

// Transposes m (out columns, n_in) to factors (n_in, pitch), so that a tile of outputs is
// contiguous.
template <class W>
CAUSEWAY_HOST_DEVICE void transpose_factors(const W& w, const float* m, int n_in, int n_out,
                                            int pitch, float* transposed) {
  of_device(m);
  for_each(w.team, n_in * pitch, [&](int at) {
    const int o = at % pitch;
    transposed[at] = o < n_out ? m[static_cast<std::int64_t>(o) * n_in + at / pitch] : 0.0f;
  });
  w.team.sync();
}

CAUSEWAY_HOST_DEVICE int tiled(int n_columns) { return (n_columns + kTile - 1) / kTile * kTile; }

// Adds one input times its factors to kWide outputs.
template <int kWide>
CAUSEWAY_HOST_DEVICE void add_input(float value, const float* from, float (&sum)[kWide]) {
  float factors[kWide];
  load_tile(from, factors);
  CAUSEWAY_UNROLL
  for (int k = 0; k < kWide; ++k) sum[k] = elementary::fma(value, factors[k], sum[k]);
}

// Keeps loads above from being moved below: to save registers the compiler would delay each load to
// its use and wait for each in turn.
CAUSEWAY_HOST_DEVICE void after_loads() {
#if defined(__CUDA_ARCH__)
  __syncwarp(__activemask());
#endif
}

// Adds input(value) of a row's columns in groups of kAhead; returns the number of columns done.
template <int kAhead, int kWide, class Input>
CAUSEWAY_HOST_DEVICE int add_groups(Columns x, int row, const float* from, int pitch,
                                    float (&sum)[kWide], const Input& input) {
  const float* column = x.data + row;
  int i = 0;
  CAUSEWAY_NO_UNROLL
  for (; i + kAhead <= x.n_columns; i += kAhead) {
    float values[kAhead];
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, column += x.stride) values[u] = *of_device(column);
    if (kAhead > 1) after_loads();
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, from += pitch) add_input(input(values[u]), from, sum);
  }
  return i;
}

// Adds all columns.
template <int kWide, class Input>
CAUSEWAY_HOST_DEVICE void add_columns(Columns x, int row, const float* from, int pitch,
                                      float (&sum)[kWide], const Input& input) {
  const int n = add_groups<8>(x, row, from, pitch, sum, input);
  x = x.slice(n, x.n_columns - n);
  from += n * pitch;
  const int m = add_groups<4>(x, row, from, pitch, sum, input);
  add_groups<1>(x.slice(m, x.n_columns - m), row, from + m * pitch, pitch, sum, input);
}

template <int kWide>
CAUSEWAY_HOST_DEVICE void add_columns(Columns x, int row, const float* from, int pitch,
                                      float (&sum)[kWide]) {
  add_columns(x, row, from, pitch, sum, [](float value) { return value; });
}

template <int kWide>
CAUSEWAY_HOST_DEVICE void store_tile(const float (&sum)[kWide], Columns out, int first, int row) {
  CAUSEWAY_UNROLL
  for (int k = 0; k < kWide; ++k) {
    if (first + k < out.n_columns) out.column(first + k)[row] = sum[k];
  }
}

// GPU, few rows: each thread handles one row and kTile outputs; the threads share the outputs of a
// row. add(row, first input, end of inputs, factors, pitch, sums) computes the sums.
template <class W, class Add>
CAUSEWAY_HOST_DEVICE void sum_few_rows(W& w, const float* transposed, int n_in, int pitch,
                                       Columns out, const Add& add) {
  const int step = padded_rows(w.n_rows);
  const int n_parts = w.team.size() / step;
  const int part = w.team.rank() / step;
  const int row = w.team.rank() - part * step;
  if (part >= n_parts || row >= w.n_rows) return;
  for (int o = part * kTile; o < out.n_columns; o += n_parts * kTile) {
    float sum[kTile] = {};
    add(row, 0, n_in, of_device(transposed + o), pitch, sum);
    store_tile(sum, out, o, row);
  }
}

// Shared memory for data that the whole team reads. It is small, because it is taken from the L1
// cache.
struct Stage {
  float* memory;
  int size;
};

// Calls use(begin, end, staged) for 0 ... n in pieces, with a tile of kWide factors of each input,
// `pitch` apart, copied to the stage. `stays`: they are already there, if they fit.
template <int kWide, class W, class Use>
CAUSEWAY_HOST_DEVICE void with_staged(W& w, Stage stage, const float* from, int pitch, int n,
                                      bool stays, const Use& use) {
  const int piece = stage.size / kWide;
  for (int begin = 0; begin < n; begin += piece) {
    const int end = begin + piece < n ? begin + piece : n;
    if (!stays || n > piece) {
      w.team.sync();
      for_each(w.team, (end - begin) * kWide, [&](int at) {
        stage.memory[at] = of_device(from)[(begin + at / kWide) * pitch + at % kWide];
      });
      w.team.sync();
    }
    use(begin, end, stage.memory);
  }
}

// Computes kWide outputs of all rows at a time, for outputs begin ... end.
template <int kWide, class W, class Add>
CAUSEWAY_HOST_DEVICE void sum_tiles(W& w, const float* transposed, int n_in, int pitch, Columns out,
                                    int begin, int end, const Add& add) {
  const Stage stage{w.team.stage(), W::Team::kStage};
  const int last = w.n_rows - 1;
  for (int o = begin; o < end; o += kWide) {
    for (int batch = 0; batch < w.n_rows; batch += w.team.size()) {
      const int own = batch + w.team.rank();
      const int row = own < last ? own : last;
      float sum[kWide] = {};
      with_staged<kWide>(
          w, stage, transposed + o, pitch, n_in, batch > 0,
          [&](int from, int to, const float* factors) { add(row, from, to, factors, kWide, sum); });
      if (own <= last) store_tile(sum, out, o, row);
    }
  }
}

template <class W, class Add>
CAUSEWAY_HOST_DEVICE void sum_outputs(W& w, const float* transposed, int n_in, int pitch,
                                      Columns out, const Add& add) {
  if (padded_rows(w.n_rows) <= w.team.size()) {
    return sum_few_rows(w, transposed, n_in, pitch, out, add);
  }
  const int n_wide = tiled(out.n_columns) / (2 * kTile) * (2 * kTile);
  sum_tiles<2 * kTile>(w, transposed, n_in, pitch, out, 0, n_wide, add);
  sum_tiles<kTile>(w, transposed, n_in, pitch, out, n_wide, out.n_columns, add);
}

// out = x m^T, with m (out columns, x columns) row-major. Each element is one chain of fused
// multiply-adds over x's columns in order.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void multiply(W& w, Columns x, const float* m, Columns out) {
  const int n_in = x.n_columns;
  const int pitch = tiled(out.n_columns);
  const Scratch scratch(w.arena);
  float* transposed = w.arena.take(static_cast<std::int64_t>(n_in) * pitch);
  if (w.arena.failed) return;
  if constexpr (W::Team::kRows > 1) {
    multiply_blocks(w, x, m, out);
  } else {
    transpose_factors(w, m, n_in, out.n_columns, pitch, transposed);
    sum_outputs(w, transposed, n_in, pitch, out,
                [&](int row, int from, int to, const float* factors, int step, auto& sum) {
                  add_columns(x.slice(from, to - from), row, factors, step, sum);
                });
  }
  w.team.sync();
}

// Calls put(c, row, value(c, row)) for every row of n_columns columns. kMost values are loaded
// before the first is stored, since the compiler cannot prove that they do not alias.
template <int kMost = 8, class W, class Value, class Put>
CAUSEWAY_HOST_DEVICE void map_cells(W& w, int n_columns, const Value& value, const Put& put) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kAhead = kRows == 1 ? kMost : 1;
  for_rows(w.team, w.n_rows, [&](int row) {
    for (int c = 0; c < n_columns; c += kAhead) {
      float values[kAhead][kRows] = {};
      CAUSEWAY_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        if (c + k >= n_columns) continue;
        for (int b = 0; b < kRows; ++b) values[k][b] = value(c + k, row + b);
      }
      CAUSEWAY_UNROLL
      for (int k = 0; k < kAhead; ++k) {
        if (c + k >= n_columns) continue;
        for (int b = 0; b < kRows; ++b) put(c + k, row + b, values[k][b]);
      }
    }
  });
  w.team.sync();
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void copy(W& w, Columns from, Columns to) {
  map_cells(
      w, from.n_columns, [&](int c, int row) { return from.column(c)[row]; },
      [&](int c, int row, float value) { to.column(c)[row] = value; });
}

struct Moments {
  float mean;
  float deviation;  // population standard deviation
};

template <class Lanes>
CAUSEWAY_HOST_DEVICE Moments moments_of(const Lanes& lanes, const float* column, int n) {
  const float mean = lanes.sum(n, [&](int i) { return column[i]; }) / static_cast<float>(n);
  const float squares = lanes.sum(n, [&](int i) {
    const float distance = column[i] - mean;
    return distance * distance;
  });
  return {mean, elementary::square_root(squares / static_cast<float>(n))};
}

// (x - mean) / (deviation + 1e-4) per column, times `factors` if given.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void standardise(W& w, Columns x, const float* factors = nullptr) {
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    float* column = x.column(c);
    const Moments moments = moments_of(lanes, column, w.n_fit);
    const float inverse = 1.0f / (moments.deviation + 1e-4f);
    const float factor = factors != nullptr ? factors[c] : 1.0f;
    lanes.each(w.n_rows, [&](int i) { column[i] = (column[i] - moments.mean) * inverse * factor; });
  });
  w.team.sync();
}

// Divides everything by the root mean square length of the rows.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void normalise_length(W& w, Columns x) {
  const Scratch scratch(w.arena);
  float* squares = w.arena.take(x.n_columns);
  if (w.arena.failed) return;
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    const float* column = x.column(c);
    const float sum = lanes.sum(w.n_fit, [&](int i) { return column[i] * column[i]; });
    lanes.each(1, [&](int) { squares[c] = sum; });
  });
  w.team.sync();
  float total = 0.0f;
  for (int c = 0; c < x.n_columns; ++c) total += squares[c];
  const float factor =
      1.0f / (elementary::square_root(total / static_cast<float>(w.n_fit)) + 1e-8f);
  map_cells(
      w, x.n_columns, [&](int c, int row) { return x.column(c)[row] * factor; },
      [&](int c, int row, float value) { x.column(c)[row] = value; });
}

}  // namespace causeway::prior
