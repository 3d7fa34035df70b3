// L_p distances of rows to centres, and the nearest centre.
#pragma once

#include "causeway/prior/device/bulk.h"

namespace causeway::prior {

inline constexpr int kMostCentres = 256;

// |distance|^p, one term of the sum.
CAUSEWAY_HOST_DEVICE float distance_term(float distance, float p) {
  return quick_power(elementary::magnitude(distance) + 1e-30f, p);
}

// Centres transposed to columns, so that several are loaded at once.
struct TransposedCentres {
  const float* values;
  int room;  // floats per column

  // From centres (n_centres, n_columns).
  template <class W>
  static CAUSEWAY_HOST_DEVICE TransposedCentres of(W& w, const float* centres, int n_centres,
                                                   int n_columns) {
    const int room = (n_centres + 3) / 4 * 4;
    float* transposed = w.arena.take(static_cast<std::int64_t>(room) * n_columns);
    if (w.arena.failed) return {transposed, room};
    for_each(w.team, room * n_columns, [&](int at) {
      const int k = at % room < n_centres ? at % room : n_centres - 1;  // padded with the last
      transposed[at] = centres[static_cast<std::int64_t>(k) * n_columns + at / room];
    });
    w.team.sync();
    return {transposed, room};
  }
};

// Adds |x_c - centre_c|^p of one column to the sums of kMany centres, for kRows rows.
template <int kMany, int kRows>
CAUSEWAY_HOST_DEVICE void add_powers(const float (&values)[kRows], const float* centres, float p,
                                     float (&sum)[kMany][kRows]) {
  float to[kMany];
#if defined(__CUDA_ARCH__)
  static_assert(kMany == 4);
  const float4 four = *reinterpret_cast<const float4*>(of_device(centres));
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
#else
  for (int k = 0; k < kMany; ++k) to[k] = centres[k];
#endif
  CAUSEWAY_UNROLL
  for (int k = 0; k < kMany; ++k) {
    for (int b = 0; b < kRows; ++b) sum[k][b] += distance_term(values[b] - to[k], p);
  }
}

// sum_c |x_c - centre_c|^p to kMany centres from `first` on. With one row per thread, four values
// are loaded before the first is used.
template <int kMany, int kRows>
CAUSEWAY_HOST_DEVICE void add_distances(Columns x, int row, TransposedCentres centres, int first,
                                        float p, float (&sum)[kMany][kRows]) {
  constexpr int kAhead = kRows == 1 ? 4 : 1;
  const float* column = x.data + row;
  const float* from = centres.values + first;
  int c = 0;
  for (; c + kAhead <= x.n_columns; c += kAhead) {
    float values[kAhead][kRows];
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, column += x.stride) {
      for (int b = 0; b < kRows; ++b) values[u][b] = of_device(column)[b];
    }
    CAUSEWAY_UNROLL
    for (int u = 0; u < kAhead; ++u, from += centres.room) add_powers(values[u], from, p, sum);
  }
  for (; c < x.n_columns; ++c, column += x.stride, from += centres.room) {
    float values[kRows];
    for (int b = 0; b < kRows; ++b) values[b] = of_device(column)[b];
    add_powers(values, from, p, sum);
  }
}

// Centres per pass, as many as fit in registers.
template <class W>
inline constexpr int kCentresAtOnce = W::Team::kRows == 1 ? 4 : 2;

// Distinct random rows as centres: (n_centres, columns), row-major.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_rows(W& w, Columns x, int n_centres, float* centres) {
  constexpr int kColumns = 8;  // columns per thread at once
  const Order order(w.draws, w.next_site(), w.n_fit);
  const int n_parts = (x.n_columns + kColumns - 1) / kColumns;
  for_each(w.team, n_centres * n_parts, [&](int at) {
    const int k = at / n_parts;
    const int first = (at - k * n_parts) * kColumns;
    const int row = order(k);
    float values[kColumns];
    CAUSEWAY_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      values[i] = first + i < x.n_columns ? x.column(first + i)[row] : 0.0f;
    }
    CAUSEWAY_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      if (first + i < x.n_columns) centres[k * x.n_columns + first + i] = values[i];
    }
  });
  w.team.sync();
}

inline constexpr float kNoCentre = 3.4e38f;  // larger than any distance

// An upper bound of the sum of squares of a centre whose sum |d|^p is at most `best`, with a margin
// for rounding: for n values, sum |d|^p >= (sum d^2)^(p/2), times n^(1 - p/2) if p > 2.
CAUSEWAY_HOST_DEVICE float reach_of(float best, float p, int n) {
  constexpr float kMargin = 0.01f;
  if (!(best < 1e30f)) return elementary::from_bits(0x7f800000u);  // infinity
  const float log_best = elementary::log_of_normal(best > 1e-30f ? best : 1e-30f) + kMargin;
  const float log_n = p > 2.0f ? elementary::log_of_normal(static_cast<float>(n)) : 0.0f;
  const float log_reach = 2.0f / p * log_best + (1.0f - 2.0f / p) * log_n;
  if (log_reach > 86.0f) return elementary::from_bits(0x7f800000u);
  return elementary::exp_within(log_reach > -86.0f ? log_reach : -86.0f);
}

// The nearest centres in L_p of kRows neighbouring rows, for vectorised loops. The sum of squares
// screens the centres: powers are computed only for rows it does not rule out, starting with the
// nearest by squares, and stop early once all rows are farther. Ties give the first centre, as
// without screening.
template <int kRows>
struct Screened {
  Columns x;
  int row;
  const float* centres;  // (n_centres, columns)
  int n_centres;
  float p;
  float squares[kMostCentres][kRows];
  float best[kRows];
  float reach[kRows];
  std::int32_t found[kRows];

  void find(const TransposedCentres& transposed) {
    take_squares(transposed);
    std::int32_t tried[kRows];
    begin(tried);
    for (int k = 0; k < n_centres; ++k) {
      int rows[kRows + kGroup];
      int n = 0;
      for (int b = 0; b < kRows; ++b) {
        rows[n] = b;
        n += k != tried[b] && !(squares[k][b] > reach[b]) ? 1 : 0;
      }
      for (int j = n; j < n + kGroup && n > 0; ++j) rows[j] = rows[n - 1];
      for (int first = 0; first < n; first += kGroup) try_centre(k, rows + first);
    }
  }

 private:
  static constexpr int kGroup = 8;    // rows per vector
  static constexpr int kColumns = 8;  // columns between early-exit checks

  void take_squares(const TransposedCentres& transposed) {
    constexpr int kMany = 2;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][kRows] = {};
      const float* from = transposed.values + first;
      for (int c = 0; c < x.n_columns; ++c, from += transposed.room) {
        const float* column = x.column(c) + row;
        for (int k = 0; k < kMany; ++k) {
          for (int b = 0; b < kRows; ++b) {
            const float distance = column[b] - from[k];
            sum[k][b] = elementary::fma(distance, distance, sum[k][b]);
          }
        }
      }
      for (int k = 0; k < kMany && first + k < n_centres; ++k) {
        for (int b = 0; b < kRows; ++b) squares[first + k][b] = sum[k][b];
      }
    }
  }

  // Starts with the nearest centre by squares and stores it in `tried`.
  void begin(std::int32_t (&tried)[kRows]) {
    float least[kRows];
    for (int b = 0; b < kRows; ++b) least[b] = kNoCentre, tried[b] = 0, best[b] = 0.0f;
    for (int k = 0; k < n_centres; ++k) {
      for (int b = 0; b < kRows; ++b) {
        const bool nearer = squares[k][b] < least[b];
        tried[b] = nearer ? k : tried[b];
        least[b] = nearer ? squares[k][b] : least[b];
      }
    }
    for (int c = 0; c < x.n_columns; ++c) {
      const float* column = x.column(c) + row;
      float to[kRows];
      for (int b = 0; b < kRows; ++b) to[b] = centres[tried[b] * x.n_columns + c];
      for (int b = 0; b < kRows; ++b) best[b] += distance_term(column[b] - to[b], p);
    }
    for (int b = 0; b < kRows; ++b) {
      found[b] = tried[b];
      if (!(best[b] < kNoCentre)) best[b] = kNoCentre, found[b] = 0;
      reach[b] = reach_of(best[b], p, x.n_columns);
    }
  }

  void try_centre(int k, const int* rows) {
    const float* centre = centres + static_cast<std::int64_t>(k) * x.n_columns;
    float sum[kGroup] = {};
    float limit[kGroup];
    for (int j = 0; j < kGroup; ++j) limit[j] = best[rows[j]];
    for (int c = 0; c < x.n_columns;) {
      const int end = c + kColumns < x.n_columns ? c + kColumns : x.n_columns;
      for (; c < end; ++c) {
        const float* column = x.column(c) + row;
        float at[kGroup];
        for (int j = 0; j < kGroup; ++j) at[j] = column[rows[j]];
        for (int j = 0; j < kGroup; ++j) sum[j] += distance_term(at[j] - centre[c], p);
      }
      bool farther = true;
      for (int j = 0; j < kGroup; ++j) farther = farther && sum[j] > limit[j];
      if (farther) return;
    }
    for (int j = 0; j < kGroup; ++j) {
      const int b = rows[j];
      const bool nearer = sum[j] < best[b] || (sum[j] == best[b] && k < found[b]);
      if (!nearer) continue;
      best[b] = sum[j];
      found[b] = k;
      reach[b] = reach_of(best[b], p, x.n_columns);
    }
  }
};

// Calls f(row, b, centre) with the nearest centre in L_p of each row.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void nearest_centres(W& w, Columns x, const float* centres, int n_centres,
                                          float p, const F& f) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kMany = kCentresAtOnce<W>;
  const Scratch scratch(w.arena);
  const TransposedCentres transposed = TransposedCentres::of(w, centres, n_centres, x.n_columns);
  if (w.arena.failed) return;
  if constexpr (kRows > 1) {
    if (n_centres <= kMostCentres) {
      Screened<kRows> screened;
      screened.x = x, screened.centres = centres, screened.n_centres = n_centres, screened.p = p;
      for_rows(w.team, w.n_rows, [&](int row) {
        screened.row = row;
        screened.find(transposed);
        for (int b = 0; b < kRows; ++b) f(row, b, screened.found[b]);
      });
      return;
    }
  }
  for_rows(w.team, w.n_rows, [&](int row) {
    float best[kRows];
    std::int32_t found[kRows] = {};
    for (int b = 0; b < kRows; ++b) best[b] = kNoCentre;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][kRows] = {};
      add_distances(x, row, transposed, first, p, sum);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kMany; ++k) {
        for (int b = 0; b < kRows; ++b) {
          const bool nearer = sum[k][b] < best[b];  // false for repeated padding centres
          found[b] = nearer ? first + k : found[b];
          best[b] = nearer ? sum[k][b] : best[b];
        }
      }
    }
    for (int b = 0; b < kRows; ++b) f(row, b, found[b]);
  });
  w.team.sync();
}

}  // namespace causeway::prior
