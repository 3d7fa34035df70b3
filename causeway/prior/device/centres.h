// Distances of rows to some centres, in L_p, and the nearest of them.
#pragma once

#include "causeway/prior/device/bulk.h"

namespace causeway::prior {

inline constexpr int kMostCentres = 256;

// |distance|^p, to be added up.
CAUSEWAY_HOST_DEVICE float distance_term(float distance, float p) {
  return quick_power(elementary::magnitude(distance) + 1e-30f, p);
}

// Centres column by column, some of one column loaded at a time.
struct TurnedCentres {
  const float* values;
  int room;  // of a column

  // Of centres (n_centres, n_columns).
  template <class W>
  static CAUSEWAY_HOST_DEVICE TurnedCentres of(W& w, const float* centres, int n_centres,
                                               int n_columns) {
    const int room = (n_centres + 3) / 4 * 4;
    float* turned = w.arena.take(static_cast<std::int64_t>(room) * n_columns);
    if (w.arena.failed) return {turned, room};
    for_each(w.team, room * n_columns, [&](int at) {
      const int k = at % room < n_centres ? at % room : n_centres - 1;  // the last, repeated
      turned[at] = centres[static_cast<std::int64_t>(k) * n_columns + at / room];
    });
    w.team.sync();
    return {turned, room};
  }
};

// sum = add(sum, x_c - centre_c) over the columns, of some neighbouring rows, to kMany centres from
// `first` on.
template <int kMany, int kRows, class Add>
CAUSEWAY_HOST_DEVICE void add_differences(Columns x, int row, TurnedCentres centres, int first,
                                          float (&sum)[kMany][kRows], const Add& add) {
  const float* from = of_device(centres.values + first);
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
  for (int c = 0; c < x.n_columns; ++c, from += centres.room) {
    const float* column = x.column(c) + row;
    float to[kMany];
#if defined(__CUDA_ARCH__)
    static_assert(kMany == 4);
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
#else
    for (int k = 0; k < kMany; ++k) to[k] = from[k];
#endif
    CAUSEWAY_UNROLL
    for (int k = 0; k < kMany; ++k) {
      for (int b = 0; b < kRows; ++b) sum[k][b] = add(sum[k][b], column[b] - to[k]);
    }
  }
}

// sum_c |x_c - centre_c|^p.
template <int kMany, int kRows>
CAUSEWAY_HOST_DEVICE void add_distances(Columns x, int row, TurnedCentres centres, int first,
                                        float p, float (&sum)[kMany][kRows]) {
  add_differences(x, row, centres, first, sum, [&](float before, float difference) {
    return before + distance_term(difference, p);
  });
}

// As many centres as fit registers beside the rows.
template <class W>
inline constexpr int kCentresAtOnce = W::Team::kRows == 1 ? 4 : 2;

// Centres that are distinct random rows: (n_centres, columns), row by row.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_rows(W& w, Columns x, int n_centres, float* centres) {
  constexpr int kColumns = 8;  // that a thread takes at once
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

inline constexpr float kNoCentre = 3.4e38f;  // farther than any that is found

// Of n numbers d, sum |d|^p is at least (sum d^2)^(p/2), for p above 2 times n^(1 - p/2). So where
// that sum is `best`, a centre whose sum of squares is above this is farther, rounding included.
CAUSEWAY_HOST_DEVICE float reach_of(float best, float p, int n) {
  constexpr float kMargin = 0.01f;
  if (!(best < 1e30f)) return elementary::from_bits(0x7f800000u);  // infinity
  const float log_best = elementary::log_of_normal(best > 1e-30f ? best : 1e-30f) + kMargin;
  const float log_n = p > 2.0f ? elementary::log_of_normal(static_cast<float>(n)) : 0.0f;
  const float log_reach = 2.0f / p * log_best + (1.0f - 2.0f / p) * log_n;
  if (log_reach > 86.0f) return elementary::from_bits(0x7f800000u);
  return elementary::exp_within(log_reach > -86.0f ? log_reach : -86.0f);
}

// The nearest centres of kRows neighbouring rows, in L_p, where rows lie side by side in vectors: a
// centre's powers are taken only for those rows that its sum of squares does not rule out,
// beginning with the nearest by squares, and no longer than it may be the nearest. Of equals the
// first is found, as by taking them all.
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

  void find(const TurnedCentres& turned) {
    take_squares(turned);
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
  static constexpr int kGroup = 8;    // rows of one vector
  static constexpr int kColumns = 8;  // between looks whether all are farther

  void take_squares(const TurnedCentres& turned) {
    constexpr int kMany = 2;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][kRows] = {};
      const float* from = turned.values + first;
      for (int c = 0; c < x.n_columns; ++c, from += turned.room) {
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

  // With the nearest by squares, which is `tried` then.
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

// The same for a thread of many, which has a row: it keeps the squares, in memory of its own, and
// goes from one centre that they do not rule out to the next, at its own pace, so that those beside
// it take powers meanwhile.
struct ScreenedRow {
  static constexpr int kMany = 4;
  Columns x;
  int row;
  TurnedCentres centres;
  int n_centres;
  float p;
  float* squares;  // of the centres, `stride` apart
  int stride;

  CAUSEWAY_HOST_DEVICE int find() const {
    const int tried = nearest_by_squares();
    const float first_sum = sum_to(tried, kNoCentre);
    const bool is_near = first_sum < kNoCentre;
    float best = is_near ? first_sum : kNoCentre;
    int found = is_near ? tried : 0;
    float reach = reach_of(best, p, x.n_columns);
    for (int k = 0;; ++k) {
      while (k < n_centres && (k == tried || of_device(squares)[k * stride] > reach)) ++k;
      if (k >= n_centres) return found;
      const float sum = sum_to(k, best);
      if (!(sum < best || (sum == best && k < found))) continue;
      best = sum;
      found = k;
      reach = reach_of(best, p, x.n_columns);
    }
  }

 private:
  CAUSEWAY_HOST_DEVICE int nearest_by_squares() const {
    float least = kNoCentre;
    int nearest = 0;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][1] = {};
      add_differences(x, row, centres, first, sum, [](float before, float difference) {
        return elementary::fma(difference, difference, before);
      });
      CAUSEWAY_UNROLL
      for (int k = 0; k < kMany; ++k) {
        if (first + k >= n_centres) continue;
        of_device(squares)[(first + k) * stride] = sum[k][0];
        nearest = sum[k][0] < least ? first + k : nearest;
        least = sum[k][0] < least ? sum[k][0] : least;
      }
    }
    return nearest;
  }

  // The sum to one centre, or, if that is beyond `limit`, a part of it that is.
  CAUSEWAY_HOST_DEVICE float sum_to(int k, float limit) const {
    constexpr int kColumns = 4;  // between looks
    const float* value = x.data + row;
    const float* from = centres.values + k;
    float sum = 0.0f;
    int c = 0;
    for (; c + kColumns <= x.n_columns && !(sum > limit); c += kColumns) {
      CAUSEWAY_UNROLL
      for (int i = 0; i < kColumns; ++i, value += x.stride, from += centres.room) {
        sum += distance_term(*of_device(value) - *of_device(from), p);
      }
    }
    for (; c < x.n_columns && !(sum > limit); ++c, value += x.stride, from += centres.room) {
      sum += distance_term(*of_device(value) - *of_device(from), p);
    }
    return sum;
  }
};

// f(row, b, centre) with the nearest centre of each row, in L_p.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void nearest_centres(W& w, Columns x, const float* centres, int n_centres,
                                          float p, const F& f) {
  constexpr int kRows = W::Team::kRows;
  constexpr int kMany = kCentresAtOnce<W>;
  const Scratch scratch(w.arena);
  const TurnedCentres turned = TurnedCentres::of(w, centres, n_centres, x.n_columns);
  if (w.arena.failed) return;
  if constexpr (kRows > 1) {
    if (n_centres <= kMostCentres) {
      Screened<kRows> screened;
      screened.x = x, screened.centres = centres, screened.n_centres = n_centres, screened.p = p;
      for_rows(w.team, w.n_rows, [&](int row) {
        screened.row = row;
        screened.find(turned);
        for (int b = 0; b < kRows; ++b) f(row, b, screened.found[b]);
      });
      return;
    }
  } else {
    float* squares = w.arena.spare(static_cast<std::int64_t>(n_centres) * w.stride);
    if (n_centres > kMany && squares != nullptr) {
      for_rows(w.team, w.n_rows, [&](int row) {
        f(row, 0, ScreenedRow{x, row, turned, n_centres, p, squares + row, w.stride}.find());
      });
      w.team.sync();
      return;
    }
  }
  for_rows(w.team, w.n_rows, [&](int row) {
    float best[kRows];
    std::int32_t found[kRows] = {};
    for (int b = 0; b < kRows; ++b) best[b] = kNoCentre;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][kRows] = {};
      add_distances(x, row, turned, first, p, sum);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kMany; ++k) {
        for (int b = 0; b < kRows; ++b) {
          const bool nearer = sum[k][b] < best[b];  // never, if it is the last repeated
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
