#include "causeway/runtime/pool_state.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/runtime/memory_name.h"

#include <algorithm>
#include <iterator>

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
  if (last_arena != nullptr && last_arena->stream == stream.handle() &&
      last_arena->capture == capture) {
    return *last_arena;
  }
  for (Arena& arena : arenas) {
    if (arena.stream == stream.handle() && arena.capture == capture && !arena.retired()) {
      last_arena = &arena;
      return arena;
    }
  }
  Arena& arena = arenas.emplace_back();
  arena.stream = stream.handle();
  arena.capture = capture;
  last_arena = &arena;
  return arena;
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
  if (captures.empty()) upstream->synchronize();
  reclaim(captures.empty());
  if (Block* block = heap.take(size)) return block;
  release_free_segments();
  return grow(heap, size);
}

// Allocates a segment from the upstream and takes the block from it; nullptr if memory or the limit
// is exhausted.
Block* Pool::State::grow(Heap& heap, std::size_t size) {
  for (const std::size_t attempt : {segment_size(size), whole_pages(size)}) {
    if (counts.limit != 0 && reserved + attempt > counts.limit) continue;
    std::byte* data = upstream->allocate(attempt);
    if (data == nullptr) continue;
    reserved += attempt;
    ++counts.segments;
    ++counts.upstream_allocations;
    heap.add_segment({data, attempt});
    return heap.take(size);
  }
  return nullptr;
}

void Pool::State::release(Block* block) {
  Heap* heap = block->heap;
  block->other_streams.clear();
  heap->release(block);
  if (heap->retired()) release_free_segments(*heap);
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

void Pool::State::release_free_segments(Heap& heap) {
  for (const Segment& segment : heap.take_free_segments()) {
    upstream->release(segment.data, segment.size);
    reserved -= segment.size;
    --counts.segments;
  }
}

void Pool::State::release_free_segments() {
  for (Arena& arena : arenas) {
    if (arena.capture != 0 && !arena.retired()) continue;  // a graph may still write to it
    release_free_segments(arena.small);
    release_free_segments(arena.large);
  }
}

void Pool::State::retire(Arena& arena) {
  if (arena.counters != nullptr) arena.small.release(std::exchange(arena.counters, nullptr));
  arena.retire();
  release_free_segments(arena.small);
  release_free_segments(arena.large);
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
}

void Pool::State::count_free(Block* block) {
  named[block->name].current -= block->size;
  counts.current -= block->size;
  ++counts.frees;
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
  fail(ErrorKind::out_of_memory, "memory.allocate",
       fmt::format(
           "{} is out of memory: \"{}\" requested {} ({}); live: {}{}; cached: {}; limit: {}; "
           "memory: {}. Free tensors, use a smaller batch, or raise the limit",
           name, memory_name::name(memory_name::current()), format_bytes(bytes), reason,
           format_bytes(counts.current), list.empty() ? "" : " (" + list + ")",
           format_bytes(reserved - counts.current),
           counts.limit == 0 ? "none" : format_bytes(counts.limit), upstream->available()));
}

}  // namespace causeway
