// Counting, gathering and selecting on the CPU. Bytes: the matrix once for each of the first two;
// bound by the look-ups.
#include "causeway/kernels/binning.h"

#include "causeway/kernels/cpu/column_tiles.h"

#include <algorithm>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

// Every piece counts for itself; `counts` gets the sum, which no order changes.
template <class V>
void count_pieces(const Columns& columns, const Guides& guides, std::int64_t* counts) {
  const GuideView<V> view(guides);
  const Pieces pieces = Pieces::of_rows(columns);
  const std::int64_t row = view.pitch + 1;
  const std::int64_t all = row * columns.n_columns();
  std::vector<std::uint32_t> local(static_cast<std::size_t>(pieces.count() * all));
  for_each_tile<V>(columns, pieces, [&](std::int64_t piece, const Tile<V>& tile) {
    std::uint32_t places[kTileRows];
    locate_tile(view, tile, static_cast<std::uint32_t>(row - 1), places);
    std::uint32_t* own = local.data() + piece * all + tile.column * row;
    for (std::int64_t i = 0; i < tile.count; ++i) ++own[places[i]];
  });
  for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
    for (std::int64_t i = 0; i < all; ++i) {
      counts[i] += local[static_cast<std::size_t>(piece * all + i)];
    }
  }
}

// A thread that has whole columns to itself writes as it goes; pieces of rows first count their
// part of every segment, so that each knows where to write.
template <class V>
void gather_pieces(const Columns& columns, const Guides& guides, const std::int32_t* segments,
                   std::int64_t* cursors, std::int64_t n_segments, V* gathered) {
  const GuideView<V> view(guides);
  const Pieces pieces = Pieces::of_columns_or_rows(columns);
  const auto missing = static_cast<std::uint32_t>(view.pitch);
  const auto pass = [&](std::int64_t* first_cursors, std::int64_t per_piece, const auto& visit) {
    for_each_tile<V>(columns, pieces, [&](std::int64_t piece, const Tile<V>& tile) {
      std::uint32_t places[kTileRows];
      locate_tile(view, tile, missing, places);
      const std::int32_t* chosen = segments + tile.column * view.pitch;
      std::int64_t* own = first_cursors + piece * per_piece;
      for (std::int64_t i = 0; i < tile.count; ++i) {
        if (places[i] == missing) continue;
        const std::int32_t segment = chosen[places[i]];
        if (segment >= 0) visit(own[segment], tile.values[i]);
      }
    });
  };
  const auto write = [&](std::int64_t& cursor, V value) { gathered[cursor++] = value; };
  if (pieces.row_parts == 1) return pass(cursors, 0, write);
  std::vector<std::int64_t> at(static_cast<std::size_t>(pieces.count() * n_segments));
  pass(at.data(), n_segments, [](std::int64_t& count, V) { ++count; });
  for (std::int64_t segment = 0; segment < n_segments; ++segment) {
    for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
      std::int64_t& mine = at[static_cast<std::size_t>(piece * n_segments + segment)];
      const std::int64_t count = mine;
      mine = cursors[segment];
      cursors[segment] += count;
    }
  }
  pass(at.data(), n_segments, write);
}

// Answers queries [first, last), which are of one stretch.
template <class V>
void select_stretch(V* gathered, const RankQuery* queries, std::int64_t first, std::int64_t last,
                    V* answers) {
  V* begin = gathered + queries[first].begin;
  V* end = gathered + queries[first].end;
  if (last - first > 2) std::sort(begin, end);
  for (std::int64_t i = first; i < last; ++i) {
    V* wanted = begin + queries[i].rank;
    if (last - first <= 2) std::nth_element(begin, wanted, end);
    answers[i] = *wanted;
  }
}

}  // namespace

void count_bins(StreamView, const Columns& columns, const Guides& guides, const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    count_pieces<decltype(tag)>(columns, guides, static_cast<std::int64_t*>(counts.data));
  });
}

void gather_bins(StreamView, const Columns& columns, const Guides& guides, const Operand& segments,
                 const Operand& cursors, const Operand& gathered) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    gather_pieces(columns, guides, static_cast<const std::int32_t*>(segments.data),
                  static_cast<std::int64_t*>(cursors.data), cursors.shape[0],
                  static_cast<decltype(tag)*>(gathered.data));
  });
}

void select_ranks(StreamView, const Operand& gathered, const Operand& queries,
                  const Operand& answers) {
  dispatch_column_type(gathered.dtype, [&](auto tag) {
    using V = decltype(tag);
    const auto* all = static_cast<const RankQuery*>(queries.data);
    const std::int64_t n = answers.shape[0];
    // Where a thread's part begins: never inside a run of queries of one stretch.
    const auto run_start = [&](std::int64_t i) {
      while (i > 0 && i < n && all[i].begin == all[i - 1].begin) ++i;
      return i;
    };
    parallel_for(n, 16, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t last = run_start(end);
      for (std::int64_t i = run_start(begin); i < last;) {
        std::int64_t next = i + 1;
        while (next < n && all[next].begin == all[i].begin) ++next;
        select_stretch(static_cast<V*>(gathered.data), all, i, next, static_cast<V*>(answers.data));
        i = next;
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
