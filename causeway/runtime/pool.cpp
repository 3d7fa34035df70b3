#include "causeway/runtime/pool.h"

#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/log.h"
#include "causeway/runtime/heap.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace causeway {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallLimit = kMiB;  // up to here blocks are cut from small segments
constexpr std::size_t kSmallSegment = 2 * kMiB;
constexpr std::size_t kMediumLimit = 10 * kMiB;
constexpr std::size_t kMediumSegment = 32 * kMiB;
constexpr std::size_t kRedZone = 256;
constexpr int kRedZoneByte = 0xfd;
constexpr int kFreshByte = 0xff;
#ifdef NDEBUG
constexpr bool kGuardedAtFirst = false;
#else
constexpr bool kGuardedAtFirst = true;
#endif

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

std::size_t segment_size(std::size_t block) {
  if (block <= kSmallLimit) return kSmallSegment;
  if (block <= kMediumLimit) return kMediumSegment;
  return round_up(block, 2 * kMiB);
}

// Names are numbers inside the pools; 0 is the unnamed rest.
class NameTable {
 public:
  std::uint32_t id(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = ids_.try_emplace(std::string(name), names_.size());
    if (fresh) names_.emplace_back(name);
    return static_cast<std::uint32_t>(place->second);
  }
  std::string name(std::uint32_t id) {
    const std::lock_guard lock(mutex_);
    return names_[id];
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> names_{"unnamed"};
  std::unordered_map<std::string, std::size_t> ids_{{"unnamed", 0}};
};

NameTable& name_table() {
  static auto* table = new NameTable();  // outlives every buffer
  return *table;
}

thread_local std::uint32_t current_name = 0;

// The memory of one stream, or of one capture on it: small and large blocks apart, so that a small
// block never pins a large segment.
struct Arena {
  CUstream_st* stream = nullptr;
  std::uint64_t capture = 0;  // 0 for the stream's ordinary memory
  Heap small{Heap::kGranule};
  Heap large{kSmallLimit};
  Block* counters = nullptr;  // of `small`

  // The capture is over: what becomes free goes back at once.
  void retire() { small.retire(), large.retire(); }
  bool retired() const { return small.retired(); }
};

struct PendingFree {
  Block* block = nullptr;
  std::vector<std::unique_ptr<Fence>> fences;
};

}  // namespace

MemoryScope::MemoryScope(std::string_view name)
    : before_(std::exchange(current_name, name_table().id(name))) {}
MemoryScope::~MemoryScope() { current_name = before_; }

struct Pool::State {
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

  bool capturing(StreamView stream) const {
    return std::any_of(captures.begin(), captures.end(),
                       [&](const auto& entry) { return entry.first == stream.handle(); });
  }

  Arena& arena_for(StreamView stream) {
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

  // The arena is over: its memory goes back, as soon as it is free.
  void retire(Arena& arena) {
    if (arena.counters != nullptr) arena.small.give(std::exchange(arena.counters, nullptr));
    arena.retire();
    release_free_segments(arena.small);
    release_free_segments(arena.large);
  }

  void release_free_segments(Heap& heap) {
    for (const Segment& segment : heap.take_free_segments()) {
      upstream->release(segment.data, segment.size);
      reserved -= segment.size;
      --counts.segments;
    }
  }

  void release_all_free_segments() {
    for (Arena& arena : arenas) {
      if (arena.capture != 0 && !arena.retired()) continue;  // a graph may still write there
      release_free_segments(arena.small);
      release_free_segments(arena.large);
    }
  }

  void give(Block* block) {
    Heap* heap = block->heap;
    block->other_streams.clear();
    heap->give(block);
    if (heap->retired()) release_free_segments(*heap);
  }

  // Takes back the blocks whose other streams are done; waits for them if told to.
  void reclaim(bool wait) {
    std::erase_if(pending, [&](PendingFree& entry) {
      for (auto& fence : entry.fences) {
        if (fence == nullptr) return false;  // its capture is not over
        if (wait) fence->wait();
        if (!fence->done()) return false;
      }
      give(entry.block);
      return true;
    });
  }

  // Asks below for a segment and cuts the block from it; nullptr where memory or the limit is out.
  Block* grow(Heap& heap, std::size_t size) {
    const std::size_t bytes = segment_size(size);
    for (const std::size_t attempt : {bytes, round_up(size, 2 * kMiB)}) {
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

  Block* find(std::size_t size, StreamView stream) {
    Arena& arena = arena_for(stream);
    Heap& heap = size <= kSmallLimit ? arena.small : arena.large;
    if (Block* block = heap.take(size)) return block;
    if (!pending.empty()) {
      reclaim(false);
      if (Block* block = heap.take(size)) return block;
    }
    if (Block* block = grow(heap, size)) return block;
    log::debug(fmt::format("{}: out of memory for {}; releasing what is cached", name,
                           format_bytes(size)));
    ++counts.recoveries;
    if (captures.empty()) upstream->synchronize();
    reclaim(captures.empty());
    if (Block* block = heap.take(size)) return block;
    release_all_free_segments();
    return grow(heap, size);
  }

  [[noreturn]] void throw_out_of_memory(std::size_t bytes, std::string_view reason) const {
    std::vector<std::pair<std::size_t, std::string>> holders;
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (named[i].current > 0) {
        holders.emplace_back(named[i].current, name_table().name(static_cast<std::uint32_t>(i)));
      }
    }
    std::sort(holders.rbegin(), holders.rend());
    std::string list;
    for (const auto& [held, holder] : holders) {
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", holder, format_bytes(held));
    }
    fail(ErrorKind::out_of_memory, "memory.allocate",
         fmt::format(
             "{} is out of memory: {} asked for by \"{}\" ({}); live: {}{}; cached: {}; limit: {}; "
             "memory: {}. Free tensors, use a smaller batch, or raise the limit",
             name, format_bytes(bytes), name_table().name(current_name), reason,
             format_bytes(counts.current), list.empty() ? "" : " (" + list + ")",
             format_bytes(reserved - counts.current),
             counts.limit == 0 ? "none" : format_bytes(counts.limit), upstream->room()));
  }

  void count_allocation(Block* block) {
    if (named.size() <= current_name) named.resize(current_name + 1);
    NamedMemory& owner = named[current_name];
    block->name = current_name;
    owner.current += block->size;
    owner.peak = std::max(owner.peak, owner.current);
    ++owner.allocations;
    counts.current += block->size;
    counts.peak = std::max(counts.peak, counts.current);
    ++counts.allocations;
  }

  void guard(Block* block, StreamView stream) const {
    upstream->fill(block->data, kRedZoneByte, kRedZone, stream);
    upstream->fill(block->data + kRedZone, kFreshByte, block->requested, stream);
    upstream->fill(block->data + kRedZone + block->requested, kRedZoneByte, kRedZone, stream);
  }

  void check_guards(Block* block, StreamView stream) {
    for (const std::size_t offset : {std::size_t{0}, kRedZone + block->requested}) {
      std::byte zone[kRedZone];
      upstream->read(zone, block->data + offset, kRedZone, stream);
      const bool whole = std::all_of(std::begin(zone), std::end(zone), [](std::byte byte) {
        return byte == std::byte{kRedZoneByte};
      });
      if (whole) continue;
      ++counts.corrupted;
      log::error(fmt::format("{}: something wrote {} a block of {} bytes named \"{}\"", name,
                             offset == 0 ? "before" : "behind", block->requested,
                             name_table().name(block->name)));
    }
  }
};

Pool::Pool(std::string name, std::unique_ptr<Upstream> upstream)
    : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  state_->upstream = std::move(upstream);
}

Pool::~Pool() {
  state_->reclaim(true);
  for (Arena& arena : state_->arenas) state_->retire(arena);
}

Buffer Pool::allocate(std::size_t bytes, StreamView stream) {
  State& state = *state_;
  Buffer buffer;
  buffer.stream_ = stream;
  if (bytes == 0) return buffer;
  const std::lock_guard lock(state.mutex);
  if (state.fail_in > 0 && --state.fail_in == 0)
    state.throw_out_of_memory(bytes, "failure injected");
  if (bytes > (std::size_t{1} << 48)) state.throw_out_of_memory(bytes, "no machine has that much");
  const bool guarded = state.guarded && !state.capturing(stream);
  const std::size_t size = round_up(bytes + (guarded ? 2 * kRedZone : 0), Heap::kGranule);
  Block* block = state.find(size, stream);
  if (block == nullptr) {
    state.throw_out_of_memory(bytes, "after releasing what was cached");
  }
  state.count_allocation(block);
  block->requested = guarded ? bytes : 0;
  buffer.pool_ = this;
  buffer.block_ = block;
  buffer.size_ = bytes;
  buffer.data_ = block->data + (guarded ? kRedZone : 0);
  if (guarded) state.guard(block, stream);
  return buffer;
}

std::uint32_t* Pool::counters(StreamView stream) {
  constexpr std::size_t kBytes = kCounters * sizeof(std::uint32_t);
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  Arena& arena = state.arena_for(stream);
  if (arena.counters == nullptr) {
    Block* block = state.find(kBytes, stream);
    if (block == nullptr) state.throw_out_of_memory(kBytes, "counters of a stream");
    state.upstream->fill(block->data, 0, kBytes, stream);
    arena.counters = block;
  }
  return reinterpret_cast<std::uint32_t*>(arena.counters->data);
}

void Pool::free(Buffer& buffer) noexcept try {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  Block* block = buffer.block_;
  state.counts.current -= block->size;
  state.named[block->name].current -= block->size;
  ++state.counts.frees;
  if (block->requested > 0 && !state.capturing(buffer.stream_)) {
    state.check_guards(block, buffer.stream_);
  }
  if (block->other_streams.empty()) return state.give(block);
  PendingFree entry{block, {}};
  for (StreamView other : block->other_streams) {
    // An event recorded inside a capture cannot be asked: end_capture makes those fences.
    entry.fences.push_back(state.capturing(other) ? nullptr : state.upstream->fence(other));
  }
  state.pending.push_back(std::move(entry));
} catch (const std::exception& error) {
  log::error(fmt::format("while freeing memory: {}", error.what()));
}

void Pool::release_cached() {
  const std::lock_guard lock(state_->mutex);
  state_->upstream->synchronize();
  state_->reclaim(true);
  state_->release_all_free_segments();
}

MemoryStats Pool::stats() const {
  const std::lock_guard lock(state_->mutex);
  MemoryStats stats = state_->counts;
  stats.cached = state_->reserved - stats.current;
  for (std::size_t i = 0; i < state_->named.size(); ++i) {
    if (state_->named[i].allocations == 0) continue;
    stats.by_name[name_table().name(static_cast<std::uint32_t>(i))] = state_->named[i];
  }
  return stats;
}

void Pool::reset_peak() {
  const std::lock_guard lock(state_->mutex);
  state_->counts.peak = state_->counts.current;
  for (NamedMemory& entry : state_->named) entry.peak = entry.current;
}

void Pool::set_limit(std::size_t bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->counts.limit = bytes;
}

void Pool::fail_nth(std::uint64_t n) {
  const std::lock_guard lock(state_->mutex);
  state_->fail_in = n;
}

void Pool::set_guarded(bool guarded) {
  const std::lock_guard lock(state_->mutex);
  state_->guarded = guarded;
}

std::uint64_t Pool::begin_capture(StreamView stream) {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t capture = state_->next_capture++;
  state_->captures.emplace_back(stream.handle(), capture);
  return capture;
}

void Pool::end_capture(StreamView stream) {
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->captures,
                [&](const auto& entry) { return entry.first == stream.handle(); });
  for (PendingFree& entry : state_->pending) {
    for (std::size_t i = 0; i < entry.fences.size(); ++i) {
      const StreamView other = entry.block->other_streams[i];
      if (entry.fences[i] == nullptr && !state_->capturing(other)) {
        entry.fences[i] = state_->upstream->fence(other);
      }
    }
  }
}

void Pool::drop_capture(std::uint64_t capture) {
  const std::lock_guard lock(state_->mutex);
  state_->upstream->synchronize();  // a replay may still be running
  state_->reclaim(true);
  for (Arena& arena : state_->arenas) {
    if (arena.capture == capture) state_->retire(arena);
  }
  state_->last_arena = nullptr;
}

Buffer::~Buffer() {
  if (pool_ != nullptr) pool_->free(*this);
}

Buffer::Buffer(Buffer&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stream_(other.stream_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_, other.block_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stream_, other.stream_);
  return *this;
}

void Buffer::used_on(StreamView stream) {
  if (block_ == nullptr || stream == stream_) return;
  const std::lock_guard lock(pool_->state_->mutex);
  auto& others = block_->other_streams;
  if (std::find(others.begin(), others.end(), stream) == others.end()) others.push_back(stream);
}

namespace {

Pool* new_device_pool(Device device) {
  auto* pool =
      new Pool(to_string(device), device.is_cpu() ? host_upstream() : device_upstream(device));
  if (const auto limit = environment("CAUSEWAY_MEMORY_LIMIT")) {
    pool->set_limit(parse_bytes("CAUSEWAY_MEMORY_LIMIT", *limit));
  }
  return pool;
}

}  // namespace

// Pools are never destroyed: a buffer in a global may outlive any order of destruction.
Pool& pool_of(Device device) {
  static Pool* cpu_pool = new_device_pool(Device::cpu());
  if (device.is_cpu()) return *cpu_pool;
  static std::mutex mutex;
  static std::deque<Pool*> pools;
  const std::lock_guard lock(mutex);
  const auto index = static_cast<std::size_t>(device.index);
  while (pools.size() <= index) {
    pools.push_back(new_device_pool(Device::cuda(static_cast<int>(pools.size()))));
  }
  return *pools[index];
}

Pool& pinned_pool() {
  static auto* pool = new Pool("pinned", pinned_upstream());
  return *pool;
}

}  // namespace causeway
