// Iterates over the columns of a matrix in cache-sized tiles, for any strides: the rows are cut
// into one piece per thread, and every tile of a column is contiguous.
#pragma once

#include "causeway/tokenizer/kernels/guide.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace causeway::kernels::cpu {

inline constexpr std::int64_t kTileRows = 1024;

// Cuts the rows of a matrix into equal parts for the threads, each of fewer than 2^31 rows.
struct Pieces {
  std::int64_t n_rows;
  std::int64_t row_parts = 1;

  static Pieces of_rows(const Columns& columns) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 31;
    Pieces pieces{columns.n_rows()};
    const std::int64_t wanted = std::max<std::int64_t>(1, pieces.n_rows / (8 * kTileRows));
    pieces.row_parts =
        std::max(std::min<std::int64_t>(thread_count(), wanted), pieces.n_rows / kLongest + 1);
    return pieces;
  }

  std::int64_t count() const { return row_parts; }
  std::int64_t first_row(std::int64_t piece) const {
    return first_row_of(piece, row_parts, n_rows);
  }
};

// A tile of one column: `count` values and their missing mask (null if nothing is missing).
template <class V>
struct Tile {
  std::int64_t column;
  std::int64_t first_row;
  std::int64_t count;
  const V* values;
  const bool* missing;
};

namespace internal {

template <class V>
struct Strided {
  const V* data;
  std::int64_t row;
  std::int64_t column;

  explicit Strided(const Operand& operand)
      : data(static_cast<const V*>(operand.data)),
        row(operand.data == nullptr ? 0 : operand.strides[0]),
        column(operand.data == nullptr ? 0 : operand.strides[1]) {}

  // The elements of a tile: in place if contiguous, otherwise copied to `space`.
  const V* tile(std::int64_t first, std::int64_t count, std::int64_t at, V* space) const {
    const V* from = data + first * row + at * column;
    if (data == nullptr || row == 1) return data == nullptr ? nullptr : from;
    for (std::int64_t i = 0; i < count; ++i) space[i] = from[i * row];
    return space;
  }
};

}  // namespace internal

// Calls body(piece, tile) for every tile, the pieces in parallel. A row-major matrix is processed
// in bands of rows, others column by column.
template <class V, class Body>
void for_each_tile(const Columns& columns, const Pieces& pieces, const Body& body) {
  const internal::Strided<V> values(columns.values);
  const internal::Strided<bool> missing(columns.missing);
  const bool by_bands = values.row > values.column;
  parallel_for(pieces.count(), 1, [&](std::int64_t first_piece, std::int64_t last_piece) {
    V value_space[kTileRows];
    bool missing_space[kTileRows];
    for (std::int64_t piece = first_piece; piece < last_piece; ++piece) {
      const std::int64_t begin = pieces.first_row(piece), end = pieces.first_row(piece + 1);
      const std::int64_t n_columns = columns.n_columns();
      const std::int64_t n_tiles = (end - begin + kTileRows - 1) / kTileRows;
      for (std::int64_t i = 0; i < n_tiles * n_columns; ++i) {
        const std::int64_t column = by_bands ? i % n_columns : i / n_tiles;
        const std::int64_t row = begin + (by_bands ? i / n_columns : i % n_tiles) * kTileRows;
        const std::int64_t count = std::min(kTileRows, end - row);
        body(piece, Tile<V>{column, row, count, values.tile(row, count, column, value_space),
                            missing.tile(row, count, column, missing_space)});
      }
    }
  });
}

// The bins of a tile's values, in two loops: the first, over the map, vectorises. A missing value
// gets `missing_place`.
template <class V>
void locate_tile(const GuideView<V>& guides, const Tile<V>& tile, std::uint32_t missing_place,
                 std::uint32_t* places) {
  const GuideColumn column = guides.columns[tile.column];
  const V* thresholds = guides.thresholds + tile.column * guides.pitch;
  const std::uint32_t* cells = guides.cells + tile.column * guides.n_cells;
  const auto low = static_cast<GuideReal<V>>(column.low);
  const auto scale = static_cast<GuideReal<V>>(column.scale);
  const V* values = tile.values;
  std::int32_t at[kTileRows];
  if (column.by_key != 0) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      at[i] = guide_cell(values[i], low, scale, true, guides.n_cells);
    }
  } else {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      at[i] = guide_cell(values[i], low, scale, false, guides.n_cells);
    }
  }
  const auto search = [&](auto steps) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      places[i] = search_cell_in_steps(values[i], cells[at[i]], thresholds, steps);
    }
  };
  switch (column.n_steps) {  // constants, so that the loop over steps unrolls
    case 0:
    case 1: search(std::integral_constant<std::int32_t, 1>()); break;
    case 2: search(std::integral_constant<std::int32_t, 2>()); break;
    case 3: search(std::integral_constant<std::int32_t, 3>()); break;
    default: search(column.n_steps);
  }
  if constexpr (std::is_floating_point_v<V>) {
    for (std::int64_t i = 0; i < tile.count; ++i) {
      places[i] = is_missing(values[i]) ? missing_place : places[i];
    }
  }
  if (tile.missing == nullptr) return;
  for (std::int64_t i = 0; i < tile.count; ++i) {
    if (tile.missing[i]) places[i] = missing_place;
  }
}

}  // namespace causeway::kernels::cpu
