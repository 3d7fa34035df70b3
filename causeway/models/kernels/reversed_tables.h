// Tables with their rows, features and classes in reverse order: other context rows, other groups
// of columns and other labels, so that a dataset can be trained on twice.
#pragma once

#include "causeway/models/kernels/reversed_tables_device.h"
#include "causeway/kernels/operand.h"

namespace causeway::kernels {

// x (tables, rows, features) f32, y (tables, rows) f32 and sizes (tables, 3) i64 as in tabular.h,
// all contiguous; out_x and out_y have the shapes of x and y. Padding stays where it is. With
// `has_classes`, class k of a table becomes its greatest class minus k.
CAUSEWAY_KERNEL(reverse_tables, const Operand& x, const Operand& y, const Operand& sizes,
                bool has_classes, const Operand& out_x, const Operand& out_y);

inline ReversedTables reversed_tables(const Operand& x, const Operand& y, const Operand& sizes,
                                      bool has_classes, const Operand& out_x,
                                      const Operand& out_y) {
  return {static_cast<const float*>(x.data),
          static_cast<const float*>(y.data),
          static_cast<const std::int64_t*>(sizes.data),
          x.shape[1],
          x.shape[2],
          has_classes,
          static_cast<float*>(out_x.data),
          static_cast<float*>(out_y.data)};
}

}  // namespace causeway::kernels
