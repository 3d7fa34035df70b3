// The gradient of an embedding lookup on the CPU: lookups are ordered by entry with a counting
// sort, and the rows of each entry are added in lookup order. Bound by memory.
#include "causeway/kernels/embedding/embedding.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"

#include <vector>

namespace causeway::kernels::cpu {

namespace {

// The lookups of each entry: picks[first[entry]] up to picks[first[entry + 1]], in order.
struct PicksByEntry {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> picks;
};

PicksByEntry group(const std::int64_t* index, std::int64_t n_indices, std::int64_t n_entries) {
  PicksByEntry grouped;
  grouped.first.assign(static_cast<std::size_t>(n_entries) + 1, 0);
  const auto fits = [&](std::int64_t k) { return index[k] >= 0 && index[k] < n_entries; };
  std::int64_t n_fitting = 0;
  for (std::int64_t k = 0; k < n_indices; ++k) {
    if (!fits(k)) continue;
    ++grouped.first[static_cast<std::size_t>(index[k]) + 1];
    ++n_fitting;
  }
  for (std::size_t entry = 1; entry < grouped.first.size(); ++entry) {
    grouped.first[entry] += grouped.first[entry - 1];
  }
  grouped.picks.resize(static_cast<std::size_t>(n_fitting));
  std::vector<std::int64_t> next(grouped.first.begin(), grouped.first.end() - 1);
  for (std::int64_t k = 0; k < n_indices; ++k) {
    if (!fits(k)) continue;
    std::int64_t& place = next[static_cast<std::size_t>(index[k])];
    grouped.picks[static_cast<std::size_t>(place++)] = k;
  }
  return grouped;
}

template <class T>
void add_entry(const T* gradient, const std::int64_t* picks, std::int64_t n_picks, T* out,
               Compute<T>* sums, std::int64_t n_columns) {
  using C = Compute<T>;
  std::fill(sums, sums + n_columns, C(0));
  for (std::int64_t k = 0; k < n_picks; ++k) {
    const T* row = gradient + picks[k] * n_columns;
#pragma omp simd
    for (std::int64_t i = 0; i < n_columns; ++i) sums[i] += static_cast<C>(row[i]);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n_columns; ++i) out[i] = static_cast<T>(sums[i]);
}

}  // namespace

void embedding_gradient(StreamView, const Operand& gradient, const Operand& index,
                        const Operand& out, std::int64_t n_indices, std::int64_t n_entries,
                        std::int64_t n_columns) {
  const PicksByEntry grouped =
      group(static_cast<const std::int64_t*>(index.data), n_indices, n_entries);
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t work = n_columns * std::max<std::int64_t>(1, n_indices / (n_entries + 1));
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(work, 1));
    parallel_for(n_entries, grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<Compute<T>> sums(static_cast<std::size_t>(n_columns));
      for (std::int64_t entry = begin; entry < end; ++entry) {
        const std::int64_t first = grouped.first[static_cast<std::size_t>(entry)];
        const std::int64_t last = grouped.first[static_cast<std::size_t>(entry) + 1];
        add_entry(static_cast<const T*>(gradient.data), grouped.picks.data() + first, last - first,
                  static_cast<T*>(out.data) + entry * n_columns, sums.data(), n_columns);
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
