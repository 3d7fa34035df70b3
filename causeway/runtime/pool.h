// The one allocator. A stream-ordered caching pool stands before each kind of memory (host, pinned
// host, every CUDA device): freed blocks are kept and handed out again on the stream that owned
// them, at once; a block that other streams used too comes back when their work is done. When
// memory is out the pool waits for such blocks, releases what it caches, tries again, and only then
// throws, naming the request and who holds the rest.
#pragma once

#include "causeway/runtime/stream.h"
#include "causeway/runtime/upstream.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace causeway {

class Pool;
struct Block;

// Owns bytes of a pool; gives them back when destroyed. Zero bytes hold no memory.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  StreamView stream() const { return stream_; }  // whose work the memory is ordered by

  // Says that work on `stream` uses the memory: it is not reused before that work is done.
  void used_on(StreamView stream);

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  StreamView stream_;
};

// Names the allocations made in its scope by this thread, for the statistics; scopes nest.
class MemoryScope {
 public:
  explicit MemoryScope(std::string_view name);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  std::uint32_t before_;
};

struct NamedMemory {
  std::size_t current = 0;  // live bytes
  std::size_t peak = 0;
  std::uint64_t allocations = 0;
};

struct MemoryStats {
  std::size_t current = 0;  // live bytes, rounded as the pool rounds them
  std::size_t peak = 0;     // the most that `current` has been since reset_peak
  std::size_t cached = 0;   // bytes held for reuse
  std::size_t limit = 0;    // of current + cached; 0 for none
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t segments = 0;              // live requests to the memory below
  std::uint64_t upstream_allocations = 0;  // how often more memory was asked for, ever
  std::uint64_t recoveries = 0;            // how often memory was out and cached bytes released
  std::uint64_t corrupted = 0;             // freed blocks whose red zone was overwritten
  std::map<std::string, NamedMemory> by_name;
};

class Pool {
 public:
  // `name` is what messages call the memory, such as "cuda:0" or "pinned".
  Pool(std::string name, std::unique_ptr<Upstream> upstream);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Memory aligned to 512 bytes (256 with red zones), usable by work queued on `stream` from now
  // on. Throws out_of_memory; the pool stays usable.
  Buffer allocate(std::size_t bytes, StreamView stream);

  // Counters for kernels on `stream`, kCounters of them, that are 0 whenever none of those runs:
  // who counts with them leaves zeros behind. Every stream has its own, and so has every capture;
  // they stay with the pool as cached bytes.
  static constexpr std::size_t kCounters = 4096;
  std::uint32_t* counters(StreamView stream);

  void release_cached();
  MemoryStats stats() const;
  void reset_peak();
  void set_limit(std::size_t bytes);  // of bytes taken from below; 0 for none
  // The n-th allocation from now (1 is the next) throws out_of_memory, once; 0 takes that back.
  void fail_nth(std::uint64_t n);
  // Fills fresh memory with 0xff (NaN, -1) and guards both ends. On at first in debug builds.
  void set_guarded(bool guarded);

  // From begin to end, allocations on `stream` come from the capture's memory, which keeps its
  // addresses until the capture is dropped: what replayed graphs need. What is free of it is taken
  // again by what begins later.
  std::uint64_t new_capture();
  void begin_capture(StreamView stream, std::uint64_t capture);
  // The same for `other`, until the capture on `stream` ends.
  void join_capture(StreamView stream, StreamView other);
  void end_capture(StreamView stream);
  void drop_capture(std::uint64_t capture);

 private:
  friend class Buffer;
  struct State;
  void free(Buffer& buffer) noexcept;
  std::unique_ptr<State> state_;
};

// The pool of a device's memory, and the one of pinned host memory. They live as long as the
// process. CAUSEWAY_MEMORY_LIMIT ("2GiB") limits each device's pool.
Pool& pool_of(Device device);
Pool& pinned_pool();

}  // namespace causeway
