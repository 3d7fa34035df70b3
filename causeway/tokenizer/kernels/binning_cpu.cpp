// Counting and gathering on the CPU. Bytes: the matrix once for each; bound by the look-ups.
#include "causeway/tokenizer/kernels/binning.h"

#include "causeway/tokenizer/kernels/column_tiles_cpu.h"
#include "causeway/tokenizer/kernels/rank_plan_device.h"

#include <algorithm>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

// Every piece has its own counters in `local` (pieces, n_columns, pitch + 1).
template <class V>
void count_pieces(const Columns& columns, const Guides& guides, const Pieces& pieces,
                  std::uint32_t* local) {
  const GuideView<V> view(guides);
  const std::int64_t row = view.pitch + 1;
  const std::int64_t all = row * columns.n_columns();
  std::fill_n(local, pieces.count() * all, 0u);
  for_each_tile<V>(columns, pieces, [&](std::int64_t piece, const Tile<V>& tile) {
    std::uint32_t places[kTileRows];
    locate_tile(view, tile, static_cast<std::uint32_t>(row - 1), places);
    std::uint32_t* own = local + piece * all + tile.column * row;
    for (std::int64_t i = 0; i < tile.count; ++i) ++own[places[i]];
  });
}

// Every piece writes to its own places.
template <class V>
void gather_pieces(const Columns& columns, const Guides& guides, const std::uint32_t* starts,
                   std::uint32_t* before, std::int64_t n_parts, const PlannedColumn* planned,
                   V* gathered) {
  const GuideView<V> view(guides);
  Pieces pieces = Pieces::of_rows(columns);
  pieces.row_parts = n_parts;
  const auto missing = static_cast<std::uint32_t>(view.pitch);
  for_each_tile<V>(columns, pieces, [&](std::int64_t piece, const Tile<V>& tile) {
    std::uint32_t places[kTileRows];
    locate_tile(view, tile, missing, places);
    const std::int64_t row = tile.column * (view.pitch + 1);
    const std::uint32_t* chosen = starts + row;
    std::uint32_t* own = before + piece * columns.n_columns() * (view.pitch + 1) + row;
    V* to = gathered + planned[tile.column].first;
    for (std::int64_t i = 0; i < tile.count; ++i) {
      const std::uint32_t place = places[i];
      if (chosen[place] != kNotGathered) to[chosen[place] + own[place]++] = tile.values[i];
    }
  });
}

}  // namespace

void count_bins(StreamView, const Columns& columns, const Guides& guides, const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    const Pieces pieces = Pieces::of_rows(columns);
    const std::int64_t all = columns.n_columns() * (guides.pitch() + 1);
    std::vector<std::uint32_t> local(static_cast<std::size_t>(pieces.count() * all));
    count_pieces<decltype(tag)>(columns, guides, pieces, local.data());
    auto* sums = static_cast<std::int64_t*>(counts.data);
    for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
      for (std::int64_t i = 0; i < all; ++i) {
        sums[i] += local[static_cast<std::size_t>(piece * all + i)];
      }
    }
  });
}

void cut_rows(StreamView, const Columns& columns, const Guides&, std::int64_t& n_parts) {
  n_parts = Pieces::of_rows(columns).row_parts;
}

void count_parts(StreamView, const Columns& columns, const Guides& guides, const Operand& counts,
                 const Operand& before) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    Pieces pieces = Pieces::of_rows(columns);
    pieces.row_parts = before.shape[0];
    auto* parts = static_cast<std::uint32_t*>(before.data);
    count_pieces<decltype(tag)>(columns, guides, pieces, parts);
    const std::int64_t all = columns.n_columns() * (guides.pitch() + 1);
    auto* sums = static_cast<std::int64_t*>(counts.data);
    std::fill_n(sums, all, std::int64_t{0});
    for (std::int64_t part = 0; part < pieces.row_parts; ++part) {
      for (std::int64_t i = 0; i < all; ++i) {
        const std::uint32_t own = parts[part * all + i];
        parts[part * all + i] = static_cast<std::uint32_t>(sums[i]);
        sums[i] += own;
      }
    }
  });
}

void gather_bins(StreamView, const Columns& columns, const Guides& guides, const Operand& starts,
                 const Operand& before, const Operand& planned, const Operand& gathered) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    gather_pieces(columns, guides, static_cast<const std::uint32_t*>(starts.data),
                  static_cast<std::uint32_t*>(before.data), before.shape[0],
                  static_cast<const PlannedColumn*>(planned.data),
                  static_cast<decltype(tag)*>(gathered.data));
  });
}

}  // namespace causeway::kernels::cpu
