// Tables in reverse order on the CPU.
#include "causeway/models/kernels/reversed_tables.h"

#include "causeway/kernels/loop_cpu.h"

namespace causeway::kernels::cpu {

void reverse_tables(StreamView, const Operand& x, const Operand& y, const Operand& sizes,
                    bool has_classes, const Operand& out_x, const Operand& out_y) {
  const ReversedTables tables = reversed_tables(x, y, sizes, has_classes, out_x, out_y);
  parallel_for(x.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t table = begin; table < end; ++table) {
      const float most = has_classes ? tables.greatest(table) : 0;
      for (std::int64_t row = 0; row < tables.n_rows; ++row) {
        for (std::int64_t column = 0; column <= tables.n_features; ++column) {
          tables.write(table, row, column, most);
        }
      }
    }
  });
}

}  // namespace causeway::kernels::cpu
