// State of a pool, protected by its lock: arenas, blocks waiting for other streams, statistics.
// Only pool.cpp includes this; every function requires the lock.
#pragma once

#include "causeway/runtime/heap.h"
#include "causeway/runtime/pool.h"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace causeway {

// The memory of one stream, or of one capture on it. Small and large blocks are separate, so that
// small blocks do not scatter over the memory of large ones.
struct Arena {
  static constexpr std::size_t kSmallLimit = std::size_t{1} << 20;

  StreamView stream;
  std::uint64_t capture = 0;  // 0 for the stream's ordinary memory
  Heap small{Heap::kGranule};
  Heap large{kSmallLimit};
  Block* counters = nullptr;  // of `small`

  Heap& heap_for(std::size_t size) { return size <= kSmallLimit ? small : large; }
  // The capture was dropped: memory is released as soon as it is free.
  void retire() { small.retire(), large.retire(); }
  bool retired() const { return small.retired(); }
};

struct PendingFree {
  Block* block = nullptr;
  std::vector<std::unique_ptr<Fence>> fences;
};

struct Pool::State {
  static constexpr std::size_t kRedZone = 256;
#ifdef NDEBUG
  static constexpr bool kGuardedByDefault = false;
#else
  static constexpr bool kGuardedByDefault = true;
#endif

  std::string name;
  std::unique_ptr<Upstream> upstream;
  mutable std::mutex mutex;
  std::deque<Arena> arenas;
  Arena* last_arena = nullptr;
  std::vector<std::pair<CUstream_st*, std::uint64_t>> captures;  // active captures
  std::uint64_t next_capture = 1;
  std::vector<PendingFree> pending;
  MemoryStats counts;  // without by_name
  std::size_t reserved = 0;
  std::vector<NamedMemory> named;
  std::uint64_t recording = 0;  // the profiler's that has the pool's memory
  std::uint64_t fail_in = 0;
  bool guarded = kGuardedByDefault;

  bool capturing(StreamView stream) const;
  Arena& arena_for(StreamView stream);

  // A block of at least `size` bytes, trying every source of memory; nullptr when out of memory.
  Block* find(std::size_t size, StreamView stream);
  void release(Block* block);
  // Releases the blocks whose other streams are done; with `wait`, waits for them.
  void reclaim(bool wait);
  // Releases memory that is free, in whole pages or segments, until it is `wanted` bytes or more.
  // The memory of captures stays, since their graphs may still write to it.
  void release_free(std::size_t wanted);
  // The arena is no longer used: its memory is released as soon as it is free.
  void retire(Arena& arena);
  // Releases what became free in retired arenas while their streams were capturing.
  void release_retired();
  std::size_t captured_bytes() const;  // in the arenas of captures

  void count_allocation(Block* block);
  void count_free(Block* block);
  // Adds a change under a name to the profiler's timeline.
  void record_change(std::uint32_t name_id);
  // Writes red zones around a new block, and checks them when it is freed.
  void guard(Block* block, StreamView stream) const;
  void check_guards(Block* block, StreamView stream);
  [[noreturn]] void throw_out_of_memory(std::size_t bytes, std::string_view reason) const;

 private:
  void reserve_range(Heap& heap);
  Block* grow(Heap& heap, std::size_t size);
  bool add_memory(Heap& heap, std::size_t size);
  // Returns the released bytes.
  std::size_t release_free(Arena& arena, Heap& heap, std::size_t wanted);
  void release_retired(Arena& arena, Heap& heap);
  Arena& arena_of(const Heap& heap);
};

}  // namespace causeway
