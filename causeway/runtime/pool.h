// The allocator: a stream-ordered caching pool for each kind of memory (host, pinned host, every
// CUDA device). Freed blocks are cached and reused immediately on the stream that owned them; a
// block used by other streams too is reused when their work is done. Each stream's memory grows in
// one range of addresses (virtual_memory.h), so that free neighbours merge whatever their sizes.
// When out of memory, the pool waits for such blocks, releases free pages and retries. If that
// fails it throws, naming the request and who holds the memory.
#pragma once

#include "causeway/runtime/stream.h"
#include "causeway/runtime/upstream.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace causeway {

class Pool;
struct Block;

// Owns bytes of a pool and returns them on destruction. A buffer of zero bytes holds no memory.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  StreamView stream() const { return stream_; }  // the stream that orders uses of the memory

  // Declares that work on `stream` uses the memory: it is not reused before that work is done.
  void used_on(StreamView stream);

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  StreamView stream_;
};

// Names the allocations of this thread within its scope, for the statistics; scopes nest.
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
  std::size_t current = 0;   // live bytes, rounded up by the pool
  std::size_t peak = 0;      // maximum of `current` since reset_peak
  std::size_t cached = 0;    // bytes kept for reuse
  std::size_t captured = 0;  // bytes that recorded graphs hold, live or cached
  std::size_t limit = 0;     // of current + cached; 0 for no limit
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t segments = 0;              // live segments, or pages of virtual memory
  std::uint64_t upstream_allocations = 0;  // total allocations from the upstream
  std::uint64_t recoveries = 0;  // how often cached memory was released because memory ran out
  std::uint64_t corrupted = 0;   // freed blocks whose red zone was overwritten
  std::map<std::string, NamedMemory> by_name;
};

class Pool {
 public:
  // `name` is used in messages, such as "cuda:0" or "pinned".
  Pool(std::string name, std::unique_ptr<Upstream> upstream);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Memory aligned to 512 bytes (256 with red zones), for use by work queued on `stream` from now
  // on. Throws out_of_memory; the pool stays usable.
  Buffer allocate(std::size_t bytes, StreamView stream);

  // Takes memory for a block of this size without allocating it, so that later allocations on
  // `stream` find it. Throws out_of_memory.
  void reserve(std::size_t bytes, StreamView stream);

  // kCounters counters for kernels on `stream`, which are 0 whenever no such kernel runs: a kernel
  // that uses them resets them to 0. Each stream and each capture has its own; they count as cached
  // bytes.
  static constexpr std::size_t kCounters = 4096;
  std::uint32_t* counters(StreamView stream);

  void release_cached();
  MemoryStats stats() const;
  void reset_peak();
  void set_limit(std::size_t bytes);  // of bytes taken from the upstream; 0 for no limit
  // The n-th allocation from now (1 is the next) throws out_of_memory, once; 0 cancels.
  void fail_nth(std::uint64_t n);
  // Fills new memory with 0xff (NaN, -1) and adds red zones at both ends. Default: on in debug
  // builds.
  void set_guarded(bool guarded);

  // Between begin and end, allocations on `stream` use the capture's memory, which keeps its
  // addresses until the capture is dropped, as replayed graphs require. Its free blocks are reused
  // by later captures with the same id.
  std::uint64_t new_capture();
  void begin_capture(StreamView stream, std::uint64_t capture);
  // Also applies to `other`, until the capture on `stream` ends.
  void join_capture(StreamView stream, StreamView other);
  void end_capture(StreamView stream);
  void drop_capture(std::uint64_t capture);

 private:
  friend class Buffer;
  struct State;
  void free(Buffer& buffer) noexcept;
  std::unique_ptr<State> state_;
};

// Limits a pool for the scope, then restores its limit; 0 bytes leave it as it is.
class LimitScope {
 public:
  LimitScope(Pool& pool, std::size_t bytes);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

 private:
  Pool& pool_;
  std::optional<std::size_t> before_;
};

// The pool of a device's memory, and of pinned host memory. They live as long as the process.
// CAUSEWAY_MEMORY_LIMIT ("2GiB") limits each device's pool.
Pool& pool_of(Device device);
Pool& pinned_pool();

}  // namespace causeway
