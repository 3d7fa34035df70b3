#include "causeway/runtime/upstream.h"

#include "causeway/core/environment.h"
#include "causeway/runtime/driver.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

namespace causeway {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class EventFence : public Fence {
 public:
  explicit EventFence(StreamView stream) : event_(stream.device()) { event_.record(stream); }
  bool done() override { return event_.done(); }
  void wait() override { event_.synchronize(); }

 private:
  Event event_;
};

std::string available_on(Device device) {
  const DeviceInfo info = describe(device);
  return fmt::format("{} free of {}", format_bytes(info.memory_free),
                     format_bytes(info.memory_total));
}

// Host memory: shared by pageable and pinned memory.
class HostUpstream : public Upstream {
 public:
  explicit HostUpstream(std::unique_ptr<VirtualMemory> memory = nullptr)
      : memory_(std::move(memory)) {}
  VirtualMemory* virtual_memory() override { return memory_.get(); }
  std::byte* allocate(std::size_t bytes) override {
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : 512;
    void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    // Huge pages: the first touch of a new segment dominates the cost of a cold allocation.
    if (data != nullptr && bytes >= kHugePage) madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data, std::size_t) noexcept override { std::free(data); }
  void synchronize() override {}
  std::unique_ptr<Fence> fence(StreamView stream) override {
    return std::make_unique<EventFence>(stream);
  }
  void fill(std::byte* data, int byte, std::size_t bytes, StreamView) override {
    std::memset(data, byte, bytes);
  }
  void read(std::byte* to, const std::byte* from, std::size_t bytes, StreamView) override {
    std::memcpy(to, from, bytes);
  }
  std::string available() const override { return available_on(Device::cpu()); }

 private:
  std::unique_ptr<VirtualMemory> memory_;
};

class PinnedUpstream : public HostUpstream {
 public:
  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(driver::allocate_pinned(bytes));
  }
  void release(std::byte* data, std::size_t) noexcept override { driver::release_pinned(data); }
};

class DeviceUpstream : public Upstream {
 public:
  explicit DeviceUpstream(Device device) : device_(device), memory_(virtual_memory_of(device)) {}
  VirtualMemory* virtual_memory() override { return memory_.get(); }
  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(driver::allocate(device_.index, bytes));
  }
  void release(std::byte* data, std::size_t) noexcept override {
    driver::release(device_.index, data);
  }
  void synchronize() override { driver::synchronize_device(device_.index); }
  std::unique_ptr<Fence> fence(StreamView stream) override {
    return std::make_unique<EventFence>(stream);
  }
  void fill(std::byte* data, int byte, std::size_t bytes, StreamView stream) override {
    driver::fill_async(device_.index, data, byte, bytes, stream.handle());
  }
  void read(std::byte* to, const std::byte* from, std::size_t bytes, StreamView stream) override {
    driver::copy_async(device_.index, to, from, bytes, stream.handle());
    driver::synchronize(device_.index, stream.handle());
  }
  std::string available() const override { return available_on(device_); }

 private:
  Device device_;
  std::unique_ptr<VirtualMemory> memory_;
};

}  // namespace

std::unique_ptr<Upstream> host_upstream() {
  return std::make_unique<HostUpstream>(virtual_memory_of(Device::cpu()));
}
std::unique_ptr<Upstream> device_upstream(Device device) {
  return std::make_unique<DeviceUpstream>(device);
}
std::unique_ptr<Upstream> pinned_upstream() { return std::make_unique<PinnedUpstream>(); }

}  // namespace causeway
