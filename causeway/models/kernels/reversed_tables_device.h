// Tables in reverse order, row by row.
#pragma once

#include "causeway/core/host_device.h"

#include <cstdint>

namespace causeway::kernels {

struct ReversedTables {
  const float* x;
  const float* y;
  const std::int64_t* sizes;
  std::int64_t n_rows;
  std::int64_t n_features;
  bool has_classes;
  float* out_x;
  float* out_y;

  // Labels are compared as they are: there is no NaN among those of a generated dataset.
  CAUSEWAY_HOST_DEVICE float greatest(std::int64_t table) const {
    float most = 0;
    for (std::int64_t row = 0; row < sizes[3 * table]; ++row) {
      const float label = y[table * n_rows + row];
      most = label > most ? label : most;
    }
    return most;
  }

  // Writes column `column` of a row; column n_features is the target. `most` is the greatest class.
  CAUSEWAY_HOST_DEVICE void write(std::int64_t table, std::int64_t row, std::int64_t column,
                                  float most) const {
    const std::int64_t own_rows = sizes[3 * table];
    const std::int64_t own_features = sizes[3 * table + 1];
    const std::int64_t from_row = table * n_rows + (row < own_rows ? own_rows - 1 - row : row);
    const std::int64_t to_row = table * n_rows + row;
    if (column == n_features) {
      const float label = y[from_row];
      out_y[to_row] = has_classes && row < own_rows ? most - label : label;
      return;
    }
    const std::int64_t from = column < own_features ? own_features - 1 - column : column;
    out_x[to_row * n_features + column] = x[from_row * n_features + from];
  }
};

}  // namespace causeway::kernels
