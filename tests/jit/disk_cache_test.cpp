// Entries that are damaged, too many, or written by several threads and processes at once.
#include "causeway/jit/disk_cache.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace {

namespace fs = std::filesystem;
using causeway::jit::Bytes;
using causeway::jit::DiskCache;

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() { fs::remove_all(folder_); }
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::temp_directory_path() / ("causeway-cache-" + std::to_string(::getpid()));
};

Bytes content(std::size_t size, int seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
  }
  return bytes;
}

std::string key(int i) { return DiskCache::key({"test", std::to_string(i)}); }

fs::path only_file(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) return entry.path();
  }
  return {};
}

std::uint64_t total_bytes(const fs::path& folder) {
  std::uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  return total;
}

TEST_F(DiskCacheTest, FindsWhatWasStored) {
  DiskCache cache(folder_, 1 << 20);
  EXPECT_FALSE(cache.find(key(1)).has_value());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{70000}}) {
    cache.store(key(static_cast<int>(size)), content(size, 3));
    EXPECT_EQ(cache.find(key(static_cast<int>(size))), content(size, 3));
  }
  EXPECT_EQ(DiskCache(folder_, 1 << 20).find(key(1)), content(1, 3));  // another process
}

TEST_F(DiskCacheTest, KeysKeepPartsApart) {
  EXPECT_NE(DiskCache::key({"ab", "c"}), DiskCache::key({"a", "bc"}));
  EXPECT_EQ(DiskCache::key({"a", "b"}), DiskCache::key({"a", "b"}));
}

TEST_F(DiskCacheTest, DiscardsDamagedEntries) {
  DiskCache cache(folder_, 1 << 20);
  const auto damage = [&](const auto& change) {
    cache.store(key(1), content(1000, 1));
    const fs::path file = only_file(folder_);
    change(file);
    EXPECT_FALSE(cache.find(key(1)).has_value());
    EXPECT_FALSE(fs::exists(file));
  };
  damage([](const fs::path& file) { fs::resize_file(file, 500); });
  damage([](const fs::path& file) { fs::resize_file(file, 0); });
  damage([](const fs::path& file) { fs::resize_file(file, 2000); });
  damage([](const fs::path& file) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(300);
    stream.put('!');
  });
}

TEST_F(DiskCacheTest, RemovesWhatWasNotUsedForLongest) {
  DiskCache cache(folder_, 10000);
  for (int i = 0; i < 30; ++i) {
    cache.store(key(i), content(1000, i));
    cache.find(key(0));  // in use all the time
  }
  EXPECT_LE(total_bytes(folder_), 10000U);
  EXPECT_TRUE(cache.find(key(29)).has_value());
  EXPECT_TRUE(cache.find(key(0)).has_value());
  EXPECT_FALSE(cache.find(key(1)).has_value());
}

TEST_F(DiskCacheTest, ManyWritersOfOneEntry) {
  std::vector<pid_t> children;
  for (int process = 0; process < 3; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      DiskCache cache(folder_, 1 << 20);
      bool right = true;
      for (int i = 0; i < 40; ++i) {
        cache.store(key(i % 4), content(5000, i % 4));
        const auto found = cache.find(key((i + 1) % 4));
        right = right && (!found || *found == content(5000, (i + 1) % 4));
      }
      ::_exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  DiskCache cache(folder_, 1 << 20);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(cache.find(key(i)), content(5000, i));
}

TEST_F(DiskCacheTest, OffOrUnwritableIsNoError) {
  DiskCache off(folder_, 0);
  off.store(key(1), content(10, 1));
  EXPECT_FALSE(off.find(key(1)).has_value());
  DiskCache unwritable("/proc/no-such-folder", 1 << 20);
  unwritable.store(key(1), content(10, 1));
  EXPECT_FALSE(unwritable.find(key(1)).has_value());
}

}  // namespace
