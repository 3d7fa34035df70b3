#include "causeway/runtime/virtual_memory.h"

#include "causeway/runtime/driver.h"

#include <sys/mman.h>

namespace causeway {

namespace {

constexpr std::size_t kPageSize = std::size_t{2} << 20;  // a huge page

std::size_t twice_the_memory(Device device) {
  return (2 * describe(device).memory_total + kPageSize - 1) / kPageSize * kPageSize;
}

class HostVirtualMemory final : public VirtualMemory {
 public:
  std::size_t page_size() const override { return kPageSize; }
  std::size_t range_size() const override { return range_size_; }

  std::byte* reserve(std::size_t bytes) override {
    const std::size_t padded = bytes + kPageSize;
    void* data = mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    auto* const start = static_cast<std::byte*>(data);
    const std::size_t before = kPageSize - reinterpret_cast<std::uintptr_t>(start) % kPageSize;
    munmap(start, before);  // what remains is aligned
    if (before < kPageSize) munmap(start + before + bytes, kPageSize - before);
    return start + before;
  }
  void unreserve(std::byte* range, std::size_t bytes) noexcept override { munmap(range, bytes); }

  bool map(std::byte* pages, std::size_t bytes) override {
    if (mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) return false;
    // Huge pages: the first touch of new memory dominates the cost of a cold allocation.
    madvise(pages, bytes, MADV_HUGEPAGE);
    return true;
  }
  void unmap(std::byte* pages, std::size_t bytes) noexcept override {
    mmap(pages, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }

 private:
  const std::size_t range_size_ = twice_the_memory(Device::cpu());
};

class DeviceVirtualMemory final : public VirtualMemory {
 public:
  DeviceVirtualMemory(Device device, std::size_t page_size)
      : device_(device), page_size_(page_size), range_size_(twice_the_memory(device)) {}

  std::size_t page_size() const override { return page_size_; }
  std::size_t range_size() const override { return range_size_; }
  std::byte* reserve(std::size_t bytes) override {
    return static_cast<std::byte*>(driver::reserve(bytes));
  }
  void unreserve(std::byte* range, std::size_t bytes) noexcept override {
    driver::unreserve(range, bytes);
  }
  bool map(std::byte* pages, std::size_t bytes) override {
    return driver::map(device_.index, pages, bytes, page_size_);
  }
  void unmap(std::byte* pages, std::size_t bytes) noexcept override {
    driver::unmap(pages, bytes, page_size_);
  }

 private:
  Device device_;
  std::size_t page_size_;
  std::size_t range_size_;
};

}  // namespace

std::unique_ptr<VirtualMemory> virtual_memory_of(Device device) {
  if (device.is_cpu()) return std::make_unique<HostVirtualMemory>();
  const std::size_t page = driver::page_size(device.index);
  if (page == 0) return nullptr;
  return std::make_unique<DeviceVirtualMemory>(device, page);
}

}  // namespace causeway
