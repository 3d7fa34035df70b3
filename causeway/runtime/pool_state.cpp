#include "causeway/runtime/pool_state.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/runtime/memory_name.h"
#include "causeway/runtime/memory_timeline.h"
#include "causeway/runtime/profiler.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallSegment = 2 * kMiB;
constexpr std::size_t kMediumLimit = 10 * kMiB;
constexpr std::size_t kMediumSegment = 32 * kMiB;
constexpr int kRedZoneByte = 0xfd;
constexpr int kFreshByte = 0xff;

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t kPage = 2 * kMiB;
  return (bytes + kPage - 1) / kPage * kPage;
}

std::size_t segment_size(std::size_t block) {
  if (block <= Arena::kSmallLimit) return kSmallSegment;
  if (block <= kMediumLimit) return kMediumSegment;
  return whole_pages(block);
}

}  // namespace

bool Pool::State::capturing(StreamView stream) const {
  return std::any_of(captures.begin(), captures.end(),
                     [&](const auto& entry) { return entry.first == stream.handle(); });
}

Arena& Pool::State::arena_for(StreamView stream) {
  std::uint64_t capture = 0;
  for (const auto& [handle, id] : captures) {
    if (handle == stream.handle()) capture = id;
  }
  const auto serves = [&](const Arena& arena) {
    return arena.stream.handle() == stream.handle() && arena.capture == capture;
  };
  if (last_arena != nullptr && serves(*last_arena)) return *last_arena;
  for (Arena& arena : arenas) {
    if (!serves(arena) || arena.retired()) continue;
    last_arena = &arena;
    return arena;
  }
  Arena& arena = arenas.emplace_back();
  arena.stream = stream;
  arena.capture = capture;
  reserve_range(arena.small);
  reserve_range(arena.large);
  last_arena = &arena;
  return arena;
}

void Pool::State::reserve_range(Heap& heap) {
  VirtualMemory* pages = upstream->virtual_memory();
  if (pages == nullptr) return;
  const std::size_t size = pages->range_size();
  std::byte* range = pages->reserve(size);
  if (range != nullptr) heap.set_range({range, size});
}

Block* Pool::State::find(std::size_t size, StreamView stream) {
  Heap& heap = arena_for(stream).heap_for(size);
  if (Block* block = heap.take(size)) return block;
  if (!pending.empty()) {
    reclaim(false);
    if (Block* block = heap.take(size)) return block;
  }
  if (Block* block = grow(heap, size)) return block;
  logger::debug(
      fmt::format("{}: out of memory for {}; releasing cached memory", name, format_bytes(size)));
  ++counts.recoveries;
  reclaim(true);
  if (Block* block = heap.take(size)) return block;
  // Free memory elsewhere is released: first as much as is missing, then all of it.
  for (const std::size_t wanted : {whole_pages(size), std::numeric_limits<std::size_t>::max()}) {
    release_free(wanted);
    if (Block* block = grow(heap, size)) return block;
  }
  return nullptr;
}

// Takes the block from new memory; nullptr if memory or the limit is exhausted.
Block* Pool::State::grow(Heap& heap, std::size_t size) {
  for (const std::size_t attempt : {segment_size(size), whole_pages(size)}) {
    if (add_memory(heap, attempt)) return heap.take(size);
  }
  return nullptr;
}

// Adds memory to the heap, so that it has a free block of that size.
bool Pool::State::add_memory(Heap& heap, std::size_t size) {
  const auto exceeds_limit = [&](std::size_t bytes) {
    return counts.limit != 0 && reserved + bytes > counts.limit;
  };
  std::size_t n_segments = 1;
  if (VirtualMemory* memory = upstream->virtual_memory(); heap.range().has_value()) {
    const auto pages = heap.pages_for(size, memory->page_size());
    if (!pages.has_value() || exceeds_limit(pages->size)) return false;
    if (!memory->map(pages->data, pages->size)) return false;
    heap.add_pages(*pages);
    size = pages->size;
    n_segments = size / memory->page_size();
  } else {
    if (exceeds_limit(size)) return false;
    std::byte* data = upstream->allocate(size);
    if (data == nullptr) return false;
    heap.add_segment({data, size});
  }
  reserved += size;
  counts.segments += n_segments;
  ++counts.upstream_allocations;
  return true;
}

void Pool::State::release(Block* block) {
  Heap* heap = block->heap;
  block->other_streams.clear();
  heap->release(block);
  if (heap->retired()) release_retired(arena_of(*heap), *heap);
}

void Pool::State::reclaim(bool wait) {
  std::erase_if(pending, [&](PendingFree& entry) {
    for (auto& fence : entry.fences) {
      if (fence == nullptr) return false;  // its capture has not ended
      if (wait) fence->wait();
      if (!fence->done()) return false;
    }
    release(entry.block);
    return true;
  });
}

Arena& Pool::State::arena_of(const Heap& heap) {
  return *std::find_if(arenas.begin(), arenas.end(), [&](const Arena& arena) {
    return &arena.small == &heap || &arena.large == &heap;
  });
}

std::size_t Pool::State::release_free(Arena& arena, Heap& heap, std::size_t wanted) {
  if (heap.free_bytes() == 0 || wanted == 0) return 0;
  if (capturing(arena.stream)) return 0;  // its earlier work cannot be waited for
  upstream->fence(arena.stream)->wait();  // for work that uses what is free now
  std::size_t released = 0;
  if (VirtualMemory* memory = upstream->virtual_memory(); heap.range().has_value()) {
    const std::size_t page_size = memory->page_size();
    for (const Segment& pages : heap.take_free_pages(wanted, page_size)) {
      memory->unmap(pages.data, pages.size);
      released += pages.size;
    }
    counts.segments -= released / page_size;
  } else {
    for (const Segment& segment : heap.take_free_segments()) {
      upstream->release(segment.data, segment.size);
      released += segment.size;
      --counts.segments;
    }
  }
  reserved -= released;
  return released;
}

void Pool::State::release_free(std::size_t wanted) {
  for (Arena& arena : arenas) {
    if (arena.capture != 0 && !arena.retired()) continue;
    for (Heap* heap : {&arena.large, &arena.small}) {
      wanted -= std::min(wanted, release_free(arena, *heap, wanted));
    }
  }
}

void Pool::State::retire(Arena& arena) {
  if (arena.counters != nullptr) arena.small.release(std::exchange(arena.counters, nullptr));
  arena.retire();
  release_retired();
}

void Pool::State::release_retired(Arena& arena, Heap& heap) {
  release_free(arena, heap, std::numeric_limits<std::size_t>::max());
  if (const auto range = heap.take_unused_range()) {
    upstream->virtual_memory()->unreserve(range->data, range->size);
  }
}

void Pool::State::release_retired() {
  for (Arena& arena : arenas) {
    if (!arena.retired()) continue;
    release_retired(arena, arena.small);
    release_retired(arena, arena.large);
  }
}

std::size_t Pool::State::captured_bytes() const {
  std::size_t bytes = 0;
  for (const Arena& arena : arenas) {
    if (arena.capture == 0 || arena.retired()) continue;
    bytes += arena.small.total_bytes() + arena.large.total_bytes();
  }
  return bytes;
}

void Pool::State::count_allocation(Block* block) {
  const std::uint32_t holder = memory_name::current();
  if (named.size() <= holder) named.resize(holder + 1);
  NamedMemory& owner = named[holder];
  block->name = holder;
  owner.current += block->size;
  owner.peak = std::max(owner.peak, owner.current);
  ++owner.allocations;
  counts.current += block->size;
  counts.peak = std::max(counts.peak, counts.current);
  ++counts.allocations;
  if (profiler::enabled()) record_change(holder);
}

void Pool::State::count_free(Block* block) {
  named[block->name].current -= block->size;
  counts.current -= block->size;
  ++counts.frees;
  if (profiler::enabled()) record_change(block->name);
}

void Pool::State::record_change(std::uint32_t name_id) {
  const std::uint64_t now = profiler::internal::recording();
  if (std::exchange(recording, now) == now) {
    return profiler::internal::record_memory(name, name_id, named[name_id].current);
  }
  for (std::uint32_t id = 0; id < named.size(); ++id) {
    if (named[id].current > 0) profiler::internal::record_memory(name, id, named[id].current);
  }
}

void Pool::State::guard(Block* block, StreamView stream) const {
  upstream->fill(block->data, kRedZoneByte, kRedZone, stream);
  upstream->fill(block->data + kRedZone, kFreshByte, block->requested, stream);
  upstream->fill(block->data + kRedZone + block->requested, kRedZoneByte, kRedZone, stream);
}

void Pool::State::check_guards(Block* block, StreamView stream) {
  for (const std::size_t offset : {std::size_t{0}, kRedZone + block->requested}) {
    std::byte zone[kRedZone];
    upstream->read(zone, block->data + offset, kRedZone, stream);
    const bool whole = std::all_of(std::begin(zone), std::end(zone),
                                   [](std::byte byte) { return byte == std::byte{kRedZoneByte}; });
    if (whole) continue;
    ++counts.corrupted;
    logger::error(fmt::format("{}: memory was written {} a block of {} bytes named \"{}\"", name,
                              offset == 0 ? "before" : "after", block->requested,
                              memory_name::name(block->name)));
  }
}

void Pool::State::throw_out_of_memory(std::size_t bytes, std::string_view reason) const {
  std::vector<std::pair<std::size_t, std::string>> holders;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].current > 0) {
      holders.emplace_back(named[i].current, memory_name::name(static_cast<std::uint32_t>(i)));
    }
  }
  std::sort(holders.rbegin(), holders.rend());
  std::string list;
  for (const auto& [held, holder] : holders) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", holder, format_bytes(held));
  }
  const std::size_t captured = captured_bytes();
  fail(ErrorKind::out_of_memory, "memory.allocate",
       fmt::format(
           "{} is out of memory: \"{}\" requested {} ({}); live: {}{}; cached: {}{}; limit: {}; "
           "memory: {}. Free tensors, use a smaller batch, or raise the limit",
           name, memory_name::name(memory_name::current()), format_bytes(bytes), reason,
           format_bytes(counts.current), list.empty() ? "" : " (" + list + ")",
           format_bytes(reserved - counts.current),
           captured == 0 ? "" : fmt::format(" (recorded graphs hold {})", format_bytes(captured)),
           counts.limit == 0 ? "none" : format_bytes(counts.limit), upstream->available()));
}

}  // namespace causeway
