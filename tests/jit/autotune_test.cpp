// The fastest candidate is measured once and remembered.
#include "causeway/jit/autotune.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cmath>

namespace {

using causeway::jit::DiskCache;

TEST(JitAutotune, RemembersTheFastest) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("causeway-tune-" + std::to_string(::getpid()));
  DiskCache cache(folder, 1 << 20);
  int calls = 0;
  const auto time = [&](int size) {
    ++calls;
    return std::abs(size - 130.0);
  };
  const std::array sizes{64, 128, 256};
  EXPECT_EQ(causeway::jit::fastest_of(cache, "one", sizes, time), 128);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(causeway::jit::fastest_of(cache, "one", sizes, time), 128);
  EXPECT_EQ(calls, 3);
  // Another key, and a remembered size that is no candidate any more, are measured.
  causeway::jit::fastest_of(cache, "two", sizes, time);
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(causeway::jit::fastest_of(cache, "one", std::array{256, 512}, time), 256);
  EXPECT_EQ(calls, 8);
  std::filesystem::remove_all(folder);
}

}  // namespace
