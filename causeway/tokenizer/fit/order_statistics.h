// Exact quantiles of many columns without sorting: splitters from a sample, one pass that counts
// the rows between them, one that gathers the intervals that contain a wanted rank, and a selection
// in those. The same bits on every device, with any number of threads.
#pragma once

#include "causeway/tokenizer/kernels/binning.h"
#include "causeway/tokenizer/kernels/quantile_device.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace causeway::tokenizer {

// The tensors of kernels::Guides.
struct GuideSet {
  Tensor columns;
  Tensor thresholds;
  Tensor cells;

  GuideSet() = default;
  GuideSet(std::int64_t n_columns, std::int64_t pitch, std::int64_t n_cells, DType dtype,
           Device device);
  // Guides over given thresholds, one ascending list per column.
  template <class V>
  static GuideSet over(std::span<const std::vector<V>> thresholds, Device device);

  kernels::Guides view(StreamView stream) const;
  GuideSet to(Device device) const;
};

// Guides that split every column of a matrix into intervals of roughly equal counts.
GuideSet sampled_guides(const Tensor& matrix, const Tensor& missing);

// The element type a matrix is binned in: f32 for narrower floats, i32 for narrower integers.
DType binned_dtype(DType dtype);

// Kernel view of a matrix and its missing mask (empty: none) on `stream`.
kernels::Columns columns_of(const Tensor& matrix, const Tensor& missing, StreamView stream);

struct ColumnQuantiles {
  std::int64_t n_valid = 0;
  std::int64_t n_missing = 0;
  std::vector<double> values;  // one per level; empty if n_valid is 0
};

// Quantiles of every column of a matrix (n_rows, n_columns) of a binned dtype, at ascending levels
// per column. -0 is returned as 0. `room` is the initial space for gathered values; if it is too
// small the search is repeated.
std::vector<ColumnQuantiles> find_quantiles(const Tensor& matrix, const Tensor& missing,
                                            QuantileMethod method,
                                            std::span<const std::vector<double>> levels,
                                            std::optional<std::int64_t> room = {});

}  // namespace causeway::tokenizer
