#include "causeway/runtime/pool.h"

#include "causeway/core/environment.h"
#include "causeway/core/log.h"
#include "causeway/runtime/memory_name.h"
#include "causeway/runtime/pool_state.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace causeway {

namespace {

std::size_t whole_granules(std::size_t bytes) {
  return (bytes + Heap::kGranule - 1) / Heap::kGranule * Heap::kGranule;
}

}  // namespace

MemoryScope::MemoryScope(std::string_view name)
    : before_(std::exchange(memory_name::current(), memory_name::id(name))) {}
MemoryScope::~MemoryScope() { memory_name::current() = before_; }

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
  if (bytes > (std::size_t{1} << 48))
    state.throw_out_of_memory(bytes, "the request is larger than any address space");
  const bool guarded = state.guarded && !state.capturing(stream);
  const std::size_t wanted = bytes + (guarded ? 2 * State::kRedZone : 0);
  Block* block = state.find(whole_granules(wanted), stream);
  if (block == nullptr) {
    state.throw_out_of_memory(bytes, "after releasing cached memory");
  }
  state.count_allocation(block);
  block->requested = guarded ? bytes : 0;
  buffer.pool_ = this;
  buffer.block_ = block;
  buffer.size_ = bytes;
  buffer.data_ = block->data + (guarded ? State::kRedZone : 0);
  if (guarded) state.guard(block, stream);
  return buffer;
}

void Pool::reserve(std::size_t bytes, StreamView stream) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (bytes == 0) return;
  Block* block = state.find(whole_granules(bytes), stream);
  if (block == nullptr) state.throw_out_of_memory(bytes, "reserved for the largest step");
  state.release(block);
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
  state.count_free(block);
  if (block->requested > 0 && !state.capturing(buffer.stream_)) {
    state.check_guards(block, buffer.stream_);
  }
  if (block->other_streams.empty()) return state.release(block);
  PendingFree entry{block, {}};
  for (StreamView other : block->other_streams) {
    // An event recorded inside a capture cannot be queried: end_capture creates those fences.
    entry.fences.push_back(state.capturing(other) ? nullptr : state.upstream->fence(other));
  }
  state.pending.push_back(std::move(entry));
} catch (const std::exception& error) {
  logger::error(fmt::format("while freeing memory: {}", error.what()));
}

void Pool::release_cached() {
  const std::lock_guard lock(state_->mutex);
  state_->upstream->synchronize();
  state_->reclaim(true);
  state_->release_free(std::numeric_limits<std::size_t>::max());
}

MemoryStats Pool::stats() const {
  const std::lock_guard lock(state_->mutex);
  MemoryStats stats = state_->counts;
  stats.cached = state_->reserved - stats.current;
  stats.captured = state_->captured_bytes();
  for (std::size_t i = 0; i < state_->named.size(); ++i) {
    if (state_->named[i].allocations == 0) continue;
    stats.by_name[memory_name::name(static_cast<std::uint32_t>(i))] = state_->named[i];
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

std::uint64_t Pool::new_capture() {
  const std::lock_guard lock(state_->mutex);
  return state_->next_capture++;
}

void Pool::begin_capture(StreamView stream, std::uint64_t capture) {
  const std::lock_guard lock(state_->mutex);
  state_->captures.emplace_back(stream.handle(), capture);
}

void Pool::join_capture(StreamView stream, StreamView other) {
  const std::lock_guard lock(state_->mutex);
  auto& captures = state_->captures;
  const auto of = [&](StreamView view) {
    return std::find_if(captures.begin(), captures.end(),
                        [&](const auto& entry) { return entry.first == view.handle(); });
  };
  if (of(other) == captures.end()) captures.emplace_back(other.handle(), of(stream)->second);
}

void Pool::end_capture(StreamView stream) {
  const std::lock_guard lock(state_->mutex);
  auto& captures = state_->captures;
  const auto found = std::find_if(captures.begin(), captures.end(), [&](const auto& entry) {
    return entry.first == stream.handle();
  });
  const std::uint64_t capture = found->second;
  std::erase_if(captures, [&](const auto& entry) { return entry.second == capture; });
  for (PendingFree& entry : state_->pending) {
    for (std::size_t i = 0; i < entry.fences.size(); ++i) {
      const StreamView other = entry.block->other_streams[i];
      if (entry.fences[i] == nullptr && !state_->capturing(other)) {
        entry.fences[i] = state_->upstream->fence(other);
      }
    }
  }
  state_->release_retired();
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

LimitScope::LimitScope(Pool& pool, std::size_t bytes) : pool_(pool) {
  if (bytes == 0) return;
  before_ = pool.stats().limit;
  pool.set_limit(bytes);
}
LimitScope::~LimitScope() {
  if (before_.has_value()) pool_.set_limit(*before_);
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
  auto pool = std::make_unique<Pool>(to_string(device),
                                     device.is_cpu() ? host_upstream() : device_upstream(device));
  if (const auto limit = environment("CAUSEWAY_MEMORY_LIMIT")) {
    pool->set_limit(parse_bytes("CAUSEWAY_MEMORY_LIMIT", *limit));
  }
  return pool.release();
}

}  // namespace

// Pools are never destroyed: a buffer in a global variable may be destroyed after any static
// object.
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
