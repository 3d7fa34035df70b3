// Guides: for every column a sorted list of thresholds and a look-up table, so that finding a
// value's bin takes one look-up and one or two comparisons (guide_device.h). Guides are built from
// given thresholds, or from a sample of the data so that the intervals contain roughly equal
// numbers of rows.
#pragma once

#include "causeway/tokenizer/kernels/guide_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// A matrix (n_rows, n_columns) of f32, f64, i32 or i64 with any strides, and optionally a bool
// matrix of the same shape that marks missing values. NaN is also missing.
struct Columns {
  Operand values;
  Operand missing;  // without data if nothing is marked

  std::int64_t n_rows() const { return values.shape[0]; }
  std::int64_t n_columns() const { return values.shape[1]; }
};

// Calls body with a tag of the matrix's element type and returns its result.
template <class Body>
auto dispatch_column_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(double{});
    case DType::i32: return body(std::int32_t{});
    case DType::i64: return body(std::int64_t{});
    default: return body(float{});
  }
}

// The guides of n columns; contiguous memory on the stream's device.
struct Guides {
  Operand columns;     // n GuideColumn, as bytes
  Operand thresholds;  // (n, pitch) of the columns' type, each row ascending, its last entry unused
  Operand cells;       // (n, n_cells) i32, packed by pack_cell

  std::int64_t n_columns() const { return thresholds.shape[0]; }
  // One more than the maximum number of thresholds; the last entry may be read but is ignored.
  std::int32_t pitch() const { return static_cast<std::int32_t>(thresholds.shape[1]); }
  std::int32_t n_cells() const { return static_cast<std::int32_t>(cells.shape[1]); }
};

// The guides of one dtype as plain pointers.
template <class V>
struct GuideView {
  const GuideColumn* columns;
  const V* thresholds;
  const std::uint32_t* cells;
  std::int32_t pitch;
  std::int32_t n_cells;

  explicit GuideView(const Guides& guides)
      : columns(static_cast<const GuideColumn*>(guides.columns.data)),
        thresholds(static_cast<const V*>(guides.thresholds.data)),
        cells(static_cast<const std::uint32_t*>(guides.cells.data)),
        pitch(guides.pitch()),
        n_cells(guides.n_cells()) {}
};

// Maximum samples per column.
inline constexpr std::int64_t kMostSamples = 16384;

// Takes up to kMostSamples rows of every column (see sample_row), sorted, without missing values:
// `samples` is (n_columns, n_samples) of the columns' dtype, `counts` (n_columns) i32.
CAUSEWAY_KERNEL(sample_columns, const Columns& columns, const Operand& samples,
                const Operand& counts);

// Sets thresholds and n_thresholds of the guides from sorted samples, evenly spaced. A value that
// fills a whole interval gets its own, [value, next number).
CAUSEWAY_KERNEL(split_samples, const Operand& samples, const Operand& counts, const Guides& guides);

// Builds the maps and cells of guides whose thresholds and n_thresholds are set.
CAUSEWAY_KERNEL(build_guides, const Guides& guides);

}  // namespace causeway::kernels
