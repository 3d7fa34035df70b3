// Arithmetic on columns of rows: what all mechanisms are made of. Each function ends with the team
// together, its results visible to all.
#pragma once

#include "causeway/prior/device/workspace.h"

namespace causeway::prior {

// A CPU's thread takes blocks of rows and outputs so that vectors stay in registers.
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

inline constexpr int kTile = 8;  // outputs that a thread of many keeps at a time

CAUSEWAY_HOST_DEVICE void load_tile(const float* from, float (&values)[kTile]) {
  of_device(from);
#if defined(__CUDA_ARCH__)
  const float4 low = *reinterpret_cast<const float4*>(from);
  const float4 high = *reinterpret_cast<const float4*>(from + 4);
  values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
  values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
#else
  for (int k = 0; k < kTile; ++k) values[k] = from[k];
#endif
}

// Factors (n_in, pitch), a tile side by side, from m (out columns, n_in).
template <class W>
CAUSEWAY_HOST_DEVICE void turn_factors(const W& w, const float* m, int n_in, int n_out, int pitch,
                                       float* turned) {
  of_device(m);
  for_each(w.team, n_in * pitch, [&](int at) {
    const int o = at % pitch;
    turned[at] = o < n_out ? m[static_cast<std::int64_t>(o) * n_in + at / pitch] : 0.0f;
  });
  w.team.sync();
}

CAUSEWAY_HOST_DEVICE int tiled(int n_columns) { return (n_columns + kTile - 1) / kTile * kTile; }

// Adds what one input has in some rows, times its factors of kTile outputs.
template <int kEach>
CAUSEWAY_HOST_DEVICE void add_input(const float (&values)[kEach], const float* from,
                                    float (&sum)[kEach][kTile]) {
  float factors[kTile];
  load_tile(from, factors);
  CAUSEWAY_UNROLL
  for (int b = 0; b < kEach; ++b) {
    CAUSEWAY_UNROLL
    for (int k = 0; k < kTile; ++k) sum[b][k] = elementary::fma(values[b], factors[k], sum[b][k]);
  }
}

template <int kEach>
CAUSEWAY_HOST_DEVICE void load_rows(const float* column, const int (&rows)[kEach],
                                    float (&values)[kEach]) {
  CAUSEWAY_UNROLL
  for (int b = 0; b < kEach; ++b) values[b] = of_device(column)[rows[b]];
}

// Adds all columns; four are there before the first is used.
template <int kEach>
CAUSEWAY_HOST_DEVICE void add_columns(Columns x, const int (&rows)[kEach], const float* from,
                                      int pitch, float (&sum)[kEach][kTile]) {
  constexpr int kAhead = 4;
  const float* column = x.data;
  int i = 0;
  for (; i + kAhead <= x.n_columns; i += kAhead) {
    float values[kAhead][kEach];
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, column += x.stride) load_rows(column, rows, values[u]);
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, from += pitch) add_input(values[u], from, sum);
  }
  for (; i < x.n_columns; ++i, column += x.stride, from += pitch) {
    float values[kEach];
    load_rows(column, rows, values);
    add_input(values, from, sum);
  }
}

// A thread of many takes kEach rows and kTile outputs at a time, for whose sums add(rows, first
// output, sums) cares. Where rows are few, threads share their outputs.
template <int kEach, class W, class Add>
CAUSEWAY_HOST_DEVICE void sum_tiles(W& w, Columns out, const Add& add) {
  const int padded = padded_rows(w.n_rows);
  const int step = padded < w.team.size() ? padded : w.team.size();
  const int n_parts = w.team.size() / step;
  const int part = w.team.rank() / step;
  const int last = w.n_rows - 1;
  if (part >= n_parts) return;
  for (int first = w.team.rank() - part * step; first < w.n_rows; first += kEach * step) {
    int rows[kEach];
    CAUSEWAY_UNROLL
    for (int b = 0; b < kEach; ++b) rows[b] = first + b * step < last ? first + b * step : last;
    for (int o = part * kTile; o < out.n_columns; o += n_parts * kTile) {
      float sum[kEach][kTile] = {};
      add(rows, o, sum);
      CAUSEWAY_UNROLL
      for (int b = 0; b < kEach; ++b) {
        if (first + b * step > last) continue;
        CAUSEWAY_UNROLL
        for (int k = 0; k < kTile; ++k) {
          if (o + k < out.n_columns) out.column(o + k)[rows[b]] = sum[b][k];
        }
      }
    }
  }
}

// With as many rows a thread as there are, up to four.
template <class W, class Add>
CAUSEWAY_HOST_DEVICE void sum_by_many(W& w, Columns out, const Add& add) {
  const int each = (w.n_rows + w.team.size() - 1) / w.team.size();
  if (each >= 3)
    sum_tiles<4>(w, out, add);
  else if (each == 2)
    sum_tiles<2>(w, out, add);
  else
    sum_tiles<1>(w, out, add);
}

// out = x m^T, with m of (out columns, x columns), row by row: each element one chain of fused
// multiply-adds over x's columns in order.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void multiply(W& w, Columns x, const float* m, Columns out) {
  const int n_in = x.n_columns;
  const int pitch = tiled(out.n_columns);
  const Scratch scratch(w.arena);
  float* turned = w.arena.take(static_cast<std::int64_t>(n_in) * pitch);
  if (w.arena.failed) return;
  if constexpr (W::Team::kRows > 1) {
    multiply_blocks(w, x, m, out);
  } else {
    turn_factors(w, m, n_in, out.n_columns, pitch, turned);
    sum_by_many(w, out, [&](const auto& rows, int o, auto& sum) {
      add_columns(x, rows, turned + o, pitch, sum);
    });
  }
  w.team.sync();
}

// put(c, row, value(c, row)) for every row of n_columns columns; a few values are there before the
// first of them is put, since a compiler cannot know that they lie apart.
template <class W, class Value, class Put>
CAUSEWAY_HOST_DEVICE void map_cells(W& w, int n_columns, const Value& value, const Put& put) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kAhead = kRows == 1 ? 4 : 1;
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
  float deviation;  // of the population
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

// (x - mean) / (deviation + 1e-4), column by column, times `factors` where there are any.
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

// Divides everything by the root of the rows' mean square length.
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
