// An upstream that counts its memory, runs out of it, and has streams whose work ends on request.
// It hands out segments, or pages of a range.
#pragma once

#include "causeway/runtime/upstream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace causeway {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

inline constexpr std::size_t kTestPage = 2 * kMiB;

struct Source {
  std::size_t room = std::size_t{1} << 40;
  std::size_t taken = 0;
  int waits = 0;
  std::map<CUstream_st*, bool> busy;
  int fail_map = 0;                          // the n-th call from now that maps pages fails
  std::set<std::byte*> mapped;               // pages
  std::map<std::byte*, std::size_t> ranges;  // reserved
};

class SourceFence : public Fence {
 public:
  SourceFence(Source& source, CUstream_st* stream) : source_(source), stream_(stream) {}
  bool done() override { return !source_.busy[stream_]; }
  void wait() override { source_.busy[stream_] = false; }

 private:
  Source& source_;
  CUstream_st* stream_;
};

// Pages of ordinary memory; counts only those that are mapped.
class SourcePages : public VirtualMemory {
 public:
  SourcePages(Source& source, std::size_t range_size) : source_(source), range_size_(range_size) {}
  std::size_t page_size() const override { return kTestPage; }
  std::size_t range_size() const override { return range_size_; }
  std::byte* reserve(std::size_t bytes) override {
    auto* range = static_cast<std::byte*>(std::aligned_alloc(kTestPage, bytes));
    source_.ranges[range] = bytes;
    return range;
  }
  void unreserve(std::byte* range, std::size_t bytes) noexcept override {
    EXPECT_EQ(source_.ranges[range], bytes);
    source_.ranges.erase(range);
    std::free(range);
  }
  bool map(std::byte* pages, std::size_t bytes) override {
    if (source_.fail_map > 0 && --source_.fail_map == 0) return false;
    if (source_.taken + bytes > source_.room) return false;
    for (std::size_t at = 0; at < bytes; at += kTestPage) {
      EXPECT_TRUE(source_.mapped.insert(pages + at).second) << "mapped twice";
    }
    source_.taken += bytes;
    return true;
  }
  void unmap(std::byte* pages, std::size_t bytes) noexcept override {
    for (std::size_t at = 0; at < bytes; at += kTestPage) {
      EXPECT_EQ(source_.mapped.erase(pages + at), 1u) << "not mapped";
    }
    source_.taken -= bytes;
  }

 private:
  Source& source_;
  std::size_t range_size_;
};

class SourceUpstream : public Upstream {
 public:
  explicit SourceUpstream(Source& source, std::unique_ptr<VirtualMemory> pages = nullptr)
      : source_(source), pages_(std::move(pages)) {}
  VirtualMemory* virtual_memory() override { return pages_.get(); }
  std::byte* allocate(std::size_t bytes) override {
    if (source_.taken + bytes > source_.room) return nullptr;
    source_.taken += bytes;
    return static_cast<std::byte*>(std::aligned_alloc(512, bytes));
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    source_.taken -= bytes;
    std::free(data);
  }
  void synchronize() override { ++source_.waits; }
  std::unique_ptr<Fence> fence(StreamView stream) override {
    return std::make_unique<SourceFence>(source_, stream.handle());
  }
  void fill(std::byte* data, int byte, std::size_t bytes, StreamView) override {
    std::memset(data, byte, bytes);
  }
  void read(std::byte* to, const std::byte* from, std::size_t bytes, StreamView) override {
    std::memcpy(to, from, bytes);
  }
  std::string available() const override { return "test memory"; }

 private:
  Source& source_;
  std::unique_ptr<VirtualMemory> pages_;
};

// A stream of a device that does not exist: the pool only compares handles.
inline StreamView stream(std::uintptr_t id) {
  return {Device::cuda(0), reinterpret_cast<CUstream_st*>(id)};
}

}  // namespace causeway
