// Distances of rows to some centres, in L_p, and the nearest of them.
#pragma once

#include "causeway/prior/device/bulk.h"

namespace causeway::prior {

inline constexpr int kMostCentres = 256;
inline constexpr int kFewCentres = 8;  // of which screening would save little to many threads

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
// `first` on; beyond the last, others are repeated.
template <int kMany, int kRows, class Add>
CAUSEWAY_HOST_DEVICE void add_differences(Columns x, int row, TurnedCentres centres, int first,
                                          float (&sum)[kMany][kRows], const Add& add) {
  const float* from = of_device(centres.values + first);
  static_assert(kMany <= 4 || kMany == 8);
  const int next = first + 4 < centres.room ? 4 : 0;  // of eight, where the last four begin
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
  for (int c = 0; c < x.n_columns; ++c, from += centres.room) {
    const float* column = x.column(c) + row;
    float to[kMany];
#if defined(__CUDA_ARCH__)
    CAUSEWAY_UNROLL
    for (int k = 0; k < kMany; k += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + (k == 0 ? 0 : next));
      to[k] = four.x, to[k + 1] = four.y, to[k + 2] = four.z, to[k + 3] = four.w;
    }
#else
    for (int k = 0; k < kMany; ++k) to[k] = from[k < 4 ? k : next + k - 4];
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
  const Order order(w.draws, w.next_site(), w.n_fit);
  for_each(w.team, n_centres, [&](int k) {
    const int row = order(k);
    for (int c = 0; c < x.n_columns; ++c) centres[k * x.n_columns + c] = x.column(c)[row];
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

// The same for the lanes of a warp, a row each. A centre that the squares do not rule out makes a
// pair with its row; pairs are gathered until there is one for every lane, so that few lanes wait
// while others take powers. The squares are taken twice, since there is no room to keep them.
struct Gathered {
  static constexpr int kMany = 8;  // centres whose squares are taken at once
  Columns x;
  int row;
  int n_rows;  // of this group
  TurnedCentres centres;
  int n_centres;
  float p;

  // What the lanes share. The least of `best` is the nearest centre and of equals the first: the
  // bits of its sum, then its number.
  struct Memory {
    std::uint64_t best[kLanes];
    float limit[kLanes];  // the sum in `best` when all lanes had met
    float reach[kLanes];
    std::uint16_t tried[kLanes];
    std::uint16_t pairs[kLanes + kMany * kLanes];
  };

  template <class Lanes>
  CAUSEWAY_HOST_DEVICE void find(const Lanes& lanes, Memory& memory) const {
    lanes.each(n_rows, [&](int b) { begin(b, memory); });
    int n_pairs = 0;  // that wait, the last to be tried first
    for (int first = 0; first < n_centres; first += kMany) {
      const bool is_last = first + kMany >= n_centres;
      n_pairs = lanes.push(
          n_rows, n_pairs, [&](int b) { return within_reach(b, first, memory); },
          [&](int b, int k, int place) {
            memory.pairs[place] = static_cast<std::uint16_t>((first + k) * kLanes + b);
          });
      lanes.meet();
      if (n_pairs < kLanes && !is_last) continue;
      while (n_pairs >= kLanes || (is_last && n_pairs > 0)) {
        const int here = n_pairs < kLanes ? n_pairs : kLanes;
        n_pairs -= here;
        lanes.each(here, [&](int i) { try_pair(lanes, memory.pairs[n_pairs + i], memory); });
      }
      lanes.meet();
      lanes.each(n_rows, [&](int b) { look_again(b, memory); });
    }
  }

  static CAUSEWAY_HOST_DEVICE int found(int b, const Memory& memory) {
    return static_cast<int>(memory.best[b] & 0xffffffffu);
  }

 private:
  static CAUSEWAY_HOST_DEVICE std::uint64_t key_of(float sum, int k) {
    return std::uint64_t{elementary::bits_of(sum)} << 32 | static_cast<std::uint32_t>(k);
  }

  CAUSEWAY_HOST_DEVICE void take_squares(int b, int first, float (&squares)[kMany][1]) const {
    add_differences(x, row + b, centres, first, squares, [](float before, float difference) {
      return elementary::fma(difference, difference, before);
    });
  }

  // The sum to one centre, or, if that is beyond `limit`, a part of it that is.
  CAUSEWAY_HOST_DEVICE float sum_to(int b, int k, float limit) const {
    constexpr int kColumns = 4;  // between looks
    const float* value = of_device(x.data + row + b);
    const float* from = of_device(centres.values + k);
    float sum = 0.0f;
    int c = 0;
    for (; c + kColumns <= x.n_columns && !(sum > limit); c += kColumns) {
      CAUSEWAY_UNROLL
      for (int i = 0; i < kColumns; ++i, value += x.stride, from += centres.room)
        sum += distance_term(*value - *from, p);
    }
    for (; c < x.n_columns && !(sum > limit); ++c, value += x.stride, from += centres.room)
      sum += distance_term(*value - *from, p);
    return sum;
  }

  // With the nearest by squares.
  CAUSEWAY_HOST_DEVICE void begin(int b, Memory& memory) const {
    float least = kNoCentre;
    int tried = 0;
    for (int first = 0; first < n_centres; first += kMany) {
      float squares[kMany][1] = {};
      take_squares(b, first, squares);
      CAUSEWAY_UNROLL
      for (int k = 0; k < kMany; ++k) {
        const bool nearer = squares[k][0] < least;  // never, if it is one repeated
        tried = nearer ? first + k : tried;
        least = nearer ? squares[k][0] : least;
      }
    }
    const float sum = sum_to(b, tried, kNoCentre);
    const bool nearer = sum < kNoCentre;
    memory.tried[b] = static_cast<std::uint16_t>(tried);
    memory.limit[b] = nearer ? sum : kNoCentre;
    memory.best[b] = nearer ? key_of(sum, tried) : key_of(kNoCentre, 0);
    memory.reach[b] = reach_of(memory.limit[b], p, x.n_columns);
  }

  // Those of kMany centres that may be the nearest, as bits.
  CAUSEWAY_HOST_DEVICE unsigned within_reach(int b, int first, const Memory& memory) const {
    float squares[kMany][1] = {};
    take_squares(b, first, squares);
    const float reach = memory.reach[b];
    const int tried = memory.tried[b];
    unsigned bits = 0;
    CAUSEWAY_UNROLL
    for (int k = 0; k < kMany; ++k) {
      const bool in_play = first + k < n_centres && first + k != tried;
      bits |= in_play && !(squares[k][0] > reach) ? 1u << k : 0u;
    }
    return bits;
  }

  template <class Lanes>
  CAUSEWAY_HOST_DEVICE void try_pair(const Lanes& lanes, int pair, Memory& memory) const {
    const int b = pair % kLanes;
    const int k = pair / kLanes;
    const float sum = sum_to(b, k, memory.limit[b]);
    if (sum <= memory.limit[b]) lanes.lower(memory.best[b], key_of(sum, k));
  }

  CAUSEWAY_HOST_DEVICE void look_again(int b, Memory& memory) const {
    const float sum = elementary::from_bits(static_cast<std::uint32_t>(memory.best[b] >> 32));
    if (!(sum < memory.limit[b])) return;
    memory.limit[b] = sum;
    memory.reach[b] = reach_of(sum, p, x.n_columns);
  }
};

// A copy of its own lies in registers.
template <class Lanes>
CAUSEWAY_HOST_DEVICE_CALL void find_gathered(const Lanes lanes, const Gathered rows) {
  rows.find(lanes, lanes.template own<Gathered::Memory>());
}

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
  } else if (n_centres > kFewCentres && n_centres <= kMostCentres) {
    w.team.columns((w.n_rows + kLanes - 1) / kLanes, [&](int group, const auto& lanes) {
      const int row = group * kLanes;
      const int here = w.n_rows - row < kLanes ? w.n_rows - row : kLanes;
      find_gathered(lanes, Gathered{x, row, here, turned, n_centres, p});
      const auto& memory = lanes.template own<Gathered::Memory>();
      lanes.each(here, [&](int b) { f(row + b, 0, Gathered::found(b, memory)); });
    });
    w.team.sync();
    return;
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
