// The layout of a strided matrix for a BLAS library.
#pragma once

#include "causeway/kernels/operand.h"

#include <algorithm>

namespace causeway::kernels {

struct MatrixLayout {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  // elements between adjacent lines
  bool transposed = false;   // the lines are columns, not rows
};

// The last two dimensions of `operand`, row-major or transposed.
inline MatrixLayout matrix_layout(const Operand& operand) {
  const int n_dims = operand.shape.size();
  MatrixLayout layout;
  layout.rows = operand.shape[n_dims - 2];
  layout.columns = operand.shape[n_dims - 1];
  const std::int64_t row_stride = operand.strides[n_dims - 2];
  const std::int64_t column_stride = operand.strides[n_dims - 1];
  const bool row_major = column_stride == 1 || layout.columns == 1;
  const bool fits = row_stride >= layout.columns || layout.rows == 1;
  if (row_major && fits) {
    layout.leading = std::max({row_stride, layout.columns, std::int64_t{1}});
  } else {
    layout.transposed = true;
    layout.leading = std::max({column_stride, layout.rows, std::int64_t{1}});
  }
  return layout;
}

// Whether a BLAS library can read the matrix without a copy.
inline bool is_matrix(const Operand& operand) {
  const int n_dims = operand.shape.size();
  const std::int64_t rows = operand.shape[n_dims - 2];
  const std::int64_t columns = operand.shape[n_dims - 1];
  const std::int64_t row_stride = operand.strides[n_dims - 2];
  const std::int64_t column_stride = operand.strides[n_dims - 1];
  const bool by_rows = (column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1);
  const bool by_columns = (row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1);
  return by_rows || by_columns;
}

}  // namespace causeway::kernels
