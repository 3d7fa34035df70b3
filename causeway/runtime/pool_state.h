// What a pool holds and does under its lock: arenas, blocks waiting for other streams, counts. Only
// pool.cpp includes this; every function expects the lock to be held.
#pragma once

#include "causeway/runtime/heap.h"
#include "causeway/runtime/pool.h"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace causeway {

// The memory of one stream, or of one capture on it: small and large blocks apart, so that a small
// block never pins a large segment.
struct Arena {
  static constexpr std::size_t kSmallLimit = std::size_t{1} << 20;

  CUstream_st* stream = nullptr;
  std::uint64_t capture = 0;  // 0 for the stream's ordinary memory
  Heap small{Heap::kGranule};
  Heap large{kSmallLimit};
  Block* counters = nullptr;  // of `small`

  Heap& heap_for(std::size_t size) { return size <= kSmallLimit ? small : large; }
  // The capture is over: what becomes free goes back at once.
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
  static constexpr bool kGuardedAtFirst = false;
#else
  static constexpr bool kGuardedAtFirst = true;
#endif

  std::string name;
  std::unique_ptr<Upstream> upstream;
  mutable std::mutex mutex;
  std::deque<Arena> arenas;
  Arena* last_arena = nullptr;
  std::vector<std::pair<CUstream_st*, std::uint64_t>> captures;  // those under way
  std::uint64_t next_capture = 1;
  std::vector<PendingFree> pending;
  MemoryStats counts;  // all but by_name
  std::size_t reserved = 0;
  std::vector<NamedMemory> named;
  std::uint64_t fail_in = 0;
  bool guarded = kGuardedAtFirst;

  bool capturing(StreamView stream) const;
  Arena& arena_for(StreamView stream);

  // A block of at least `size` bytes, by every means there is; nullptr where memory is out.
  Block* find(std::size_t size, StreamView stream);
  void give(Block* block);
  // Takes back the blocks whose other streams are done; waits for them if told to.
  void reclaim(bool wait);
  void release_free_segments();
  // The arena is over: its memory goes back, as soon as it is free.
  void retire(Arena& arena);

  void count_allocation(Block* block);
  void count_free(Block* block);
  // Red zones around a fresh block, and a look at them when it is freed.
  void guard(Block* block, StreamView stream) const;
  void check_guards(Block* block, StreamView stream);
  [[noreturn]] void throw_out_of_memory(std::size_t bytes, std::string_view reason) const;

 private:
  Block* grow(Heap& heap, std::size_t size);
  void release_free_segments(Heap& heap);
};

}  // namespace causeway
