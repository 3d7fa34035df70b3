// The state of one attempt at one dataset: its random numbers, its memory, its rows.
#pragma once

#include "causeway/prior/device/draws.h"
#include "causeway/prior/device/team.h"

namespace causeway::prior {

// Memory handed out in order and given back in reverse. What does not fit sets `failed`, and the
// attempt ends; how much there is depends on the configuration alone, so this happens to the same
// datasets everywhere.
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
  // What would be taken next, for a moment's use; nullptr where there is not as much.
  CAUSEWAY_HOST_DEVICE float* spare(std::int64_t count) const {
    return count <= capacity - used ? base + used : nullptr;
  }
};

// Columns of rows, one after the other.
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

// Rows come in worlds of n_fit: the data as such, and, where asked for, the same with an
// intervention or without noise. Whatever is fitted (means, centres, thresholds) is fitted to the
// first world; what is drawn by row is drawn alike in all.
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

  // Where loops over single rows end: a CPU's blocks of rows reach into the padding, which so holds
  // numbers as good as any.
  CAUSEWAY_HOST_DEVICE int row_end() const { return Team::kRows == 1 ? n_rows : stride; }
  // A new random object's name, the same in every thread.
  CAUSEWAY_HOST_DEVICE std::uint32_t next_site() { return site++; }
  CAUSEWAY_HOST_DEVICE std::uint32_t drawn_row(int row) const {
    return static_cast<std::uint32_t>(row < n_fit ? row : row % n_fit);
  }
  CAUSEWAY_HOST_DEVICE Columns take_columns(int n_columns) {
    return {arena.take(static_cast<std::int64_t>(n_columns) * stride), n_columns, stride};
  }
};

// The same workspace for rows of another number, as of a table of categories; sites and failures
// are handed back by take_back.
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

// Gives back on leaving what was taken meanwhile.
struct Scratch {
  Arena& arena;
  std::int64_t mark;

  CAUSEWAY_HOST_DEVICE explicit Scratch(Arena& of) : arena(of), mark(of.used) {}
  CAUSEWAY_HOST_DEVICE ~Scratch() { arena.used = mark; }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace causeway::prior
