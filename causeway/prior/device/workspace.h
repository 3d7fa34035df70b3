// The state of one attempt at one dataset: random numbers, memory, rows.
#pragma once

#include "causeway/prior/device/draws.h"
#include "causeway/prior/device/team.h"

namespace causeway::prior {

// A stack allocator. An allocation that does not fit sets `failed`, and the attempt is rejected.
// The capacity depends on the configuration alone, so the same datasets are rejected everywhere.
struct Arena {
  float* base = nullptr;
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  bool failed = false;

  CAUSEWAY_HOST_DEVICE float* take(std::int64_t count) {
    const std::int64_t rounded = (count + 15) / 16 * 16;
    if (rounded > capacity - used) {
      failed = true;
      return of_device(base);
    }
    float* memory = base + used;
    used += rounded;
    return of_device(memory);
  }
  // Unused memory for temporary use without allocating it; nullptr if there is not enough.
  CAUSEWAY_HOST_DEVICE float* spare(std::int64_t count) const {
    return count <= capacity - used ? base + used : nullptr;
  }
};

// A matrix stored column by column.
struct Columns {
  float* data = nullptr;
  int n_columns = 0;
  int stride = 0;

  CAUSEWAY_HOST_DEVICE float* column(int c) const {
    return of_device(data + static_cast<std::int64_t>(c) * stride);
  }
  CAUSEWAY_HOST_DEVICE Columns slice(int first, int count) const {
    return {column(first), count, stride};
  }
};

struct ChoiceTable;  // sampler.h

// Rows come in worlds of n_fit rows: the data itself and, on request, the same data under an
// intervention or without noise. Fitted parameters (means, centres, thresholds) use the first
// world; random draws per row are the same in all.
template <class TeamType>
struct Workspace {
  using Team = TeamType;
  Team team;
  Draws draws;
  Arena arena;
  int n_fit = 0;
  int n_rows = 0;  // of all worlds
  int stride = 0;  // n_rows, padded
  std::uint32_t site = 0;
  const ChoiceTable* choices = nullptr;

  // End of loops over single rows. CPU blocks of rows reach into the padding, so it must hold
  // finite values.
  CAUSEWAY_HOST_DEVICE int row_end() const { return Team::kRows == 1 ? n_rows : stride; }
  // A new site, the same in every thread.
  CAUSEWAY_HOST_DEVICE std::uint32_t next_site() { return site++; }
  CAUSEWAY_HOST_DEVICE std::uint32_t drawn_row(int row) const {
    return static_cast<std::uint32_t>(row < n_fit ? row : row % n_fit);
  }
  CAUSEWAY_HOST_DEVICE Columns take_columns(int n_columns) {
    return {arena.take(static_cast<std::int64_t>(n_columns) * stride), n_columns, stride};
  }
};

// A copy of the workspace with another number of rows, such as a table of categories. take_back
// returns its sites and failure flag.
template <class W>
CAUSEWAY_HOST_DEVICE W with_rows(const W& w, int n_rows) {
  W other = w;
  other.n_fit = n_rows;
  other.n_rows = n_rows;
  other.stride = padded_rows(n_rows);
  return other;
}

template <class W>
CAUSEWAY_HOST_DEVICE void take_back(W& w, const W& other) {
  w.site = other.site;
  w.arena.failed = other.arena.failed;
}

// Frees on destruction what was allocated since construction.
struct Scratch {
  Arena& arena;
  std::int64_t mark;

  CAUSEWAY_HOST_DEVICE explicit Scratch(Arena& of) : arena(of), mark(of.used) {}
  CAUSEWAY_HOST_DEVICE ~Scratch() { arena.used = mark; }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace causeway::prior
