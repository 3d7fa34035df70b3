#include "causeway/runtime/transfer.h"

#include "causeway/core/error.h"
#include "causeway/runtime/driver.h"
#include "causeway/runtime/fault.h"
#include "causeway/runtime/graph.h"
#include "causeway/runtime/pool.h"
#include "causeway/runtime/profiler.h"
#include "causeway/runtime/threads.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace causeway {

namespace {

constexpr std::size_t kChunk = std::size_t{8} << 20;
constexpr int kChunks = 3;  // one being filled, one in transfer, one waiting

// One host thread copies about 10 GB/s; the bus is five times as fast.
void copy_on_host(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const auto pieces = static_cast<std::int64_t>((bytes + kPiece - 1) / kPiece);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t first = static_cast<std::size_t>(begin) * kPiece;
    const std::size_t last = std::min(bytes, static_cast<std::size_t>(end) * kPiece);
    std::memcpy(to + first, from + first, last - first);
  });
}

struct Slot {
  Buffer memory;
  std::optional<Event> copied;
};

std::array<Slot, kChunks> make_slots(std::size_t bytes, Device device) {
  std::array<Slot, kChunks> slots;
  for (Slot& slot : slots) {
    slot.memory = pinned_pool().allocate(std::min(bytes, kChunk), StreamView());
    slot.copied.emplace(device);
    if (bytes <= kChunk) break;
  }
  return slots;
}

void upload(std::byte* to, const std::byte* from, std::size_t bytes, StreamView stream) {
  const int device = stream.device().index;
  auto slots = make_slots(bytes, stream.device());
  for (std::size_t offset = 0, turn = 0; offset < bytes; offset += kChunk, ++turn) {
    Slot& slot = slots[turn % kChunks];
    const std::size_t size = std::min(kChunk, bytes - offset);
    if (turn >= kChunks) slot.copied->synchronize();
    copy_on_host(slot.memory.data(), from + offset, size);
    driver::copy_async(device, to + offset, slot.memory.data(), size, stream.handle());
    slot.copied->record(stream);
    slot.memory.used_on(stream);  // the chunk returns to its pool when the copy is done
  }
}

void download(std::byte* to, const std::byte* from, std::size_t bytes, StreamView stream) {
  const int device = stream.device().index;
  auto slots = make_slots(bytes, stream.device());
  const std::size_t n_chunks = (bytes + kChunk - 1) / kChunk;
  const auto queue = [&](std::size_t chunk) {
    Slot& slot = slots[chunk % kChunks];
    const std::size_t offset = chunk * kChunk;
    driver::copy_async(device, slot.memory.data(), from + offset, std::min(kChunk, bytes - offset),
                       stream.handle());
    slot.copied->record(stream);
    slot.memory.used_on(stream);
  };
  for (std::size_t chunk = 0; chunk < std::min<std::size_t>(n_chunks, kChunks); ++chunk) {
    queue(chunk);
  }
  for (std::size_t chunk = 0; chunk < n_chunks; ++chunk) {
    Slot& slot = slots[chunk % kChunks];
    const std::size_t offset = chunk * kChunk;
    slot.copied->synchronize();
    copy_on_host(to + offset, slot.memory.data(), std::min(kChunk, bytes - offset));
    if (chunk + kChunks < n_chunks) queue(chunk + kChunks);
  }
  check_fault(stream.device());
}

void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device,
          std::size_t bytes, StreamView stream) {
  if (to_device.is_cpu() && from_device.is_cpu()) return copy_on_host(to, from, bytes);
  if (from_device.is_cpu()) return upload(to, from, bytes, stream);
  if (to_device.is_cpu()) return download(to, from, bytes, stream);
  driver::copy_async(stream.device().index, to, from, bytes, stream.handle());
}

}  // namespace

void transfer(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
              StreamView stream) {
  if (bytes == 0) return;
  if (capturing() && to_device.is_cpu() != from_device.is_cpu()) {
    fail(ErrorKind::invalid_argument, "transfer",
         "a copy between host and GPU cannot be part of a graph, whose replays would read the host "
         "memory again; copy before the capture, or create the tensor on the GPU");
  }
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  if (!profiler::enabled()) return copy(target, to_device, source, from_device, bytes, stream);
  const char* direction = from_device.is_cpu() ? (to_device.is_cpu() ? "copy host" : "upload")
                                               : (to_device.is_cpu() ? "download" : "copy device");
  const profiler::Scope scope(direction, profiler::Kind::transfer, stream,
                              static_cast<double>(bytes));
  copy(target, to_device, source, from_device, bytes, stream);
}

}  // namespace causeway
