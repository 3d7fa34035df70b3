// Sorting on the CPU: keys with their positions, one row per task.
#include "causeway/kernels/sort/sort.h"

#include "causeway/kernels/sort/sort_key_device.h"
#include "causeway/kernels/dispatch.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <vector>

namespace causeway::kernels::cpu {

void sort(StreamView, const Operand& in, const Operand& values, const Operand& indices,
          std::int64_t n_rows, std::int64_t n_columns, bool descending) {
  dispatch_all(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    struct Entry {
      SortKey<T> key;
      std::int64_t index;
    };
    const auto* from = static_cast<const T*>(in.data);
    auto* to = static_cast<T*>(values.data);
    auto* places = static_cast<std::int64_t*>(indices.data);
    const std::int64_t grain =
        std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n_columns, 1));
    parallel_for(n_rows, grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Entry> entries(static_cast<std::size_t>(n_columns));
      for (std::int64_t row = begin; row < end; ++row) {
        const T* row_in = from + row * n_columns;
        for (std::int64_t i = 0; i < n_columns; ++i) {
          entries[static_cast<std::size_t>(i)] = {sort_key_of(row_in[i], descending), i};
        }
        // Positions break ties, so that an unstable sort gives the stable order.
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
          return a.key != b.key ? a.key < b.key : a.index < b.index;
        });
        for (std::int64_t i = 0; i < n_columns; ++i) {
          const std::int64_t index = entries[static_cast<std::size_t>(i)].index;
          to[row * n_columns + i] = row_in[index];
          places[row * n_columns + i] = index;
        }
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
