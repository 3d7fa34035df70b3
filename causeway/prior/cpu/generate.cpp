// Datasets on the CPU: each thread takes the next that nobody has. Bound by arithmetic.
#include "causeway/prior/generate.h"

#include "causeway/runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace causeway::prior::cpu {

void generate(const Recipe& recipe, std::uint64_t seed, const BatchOut& out) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t pieces = std::min<std::int64_t>(thread_count(), out.count);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const auto shared = std::make_unique<Shared>();
      const auto arena =
          std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(recipe.arena_floats));
      for (std::int64_t k = next++; k < out.count; k = next++) {
        const DatasetOut to = out.of(k);
        out.info[k] = make_dataset(Solo{}, recipe, seed, out.index_of(k), 0, OtherWorld{}, *shared,
                                   arena.get(), to);
        // Rows that other datasets have and this one has not.
        if (out.places != nullptr) continue;
        const std::int64_t used = out.info[k].n_rows;
        std::fill(to.x + used * out.features, to.x + std::int64_t{out.rows} * out.features, 0.0f);
        std::fill(to.y + used, to.y + out.rows, 0.0f);
      }
    }
  });
}

}  // namespace causeway::prior::cpu
