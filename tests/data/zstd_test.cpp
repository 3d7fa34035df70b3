#include "causeway/data/zstd.h"

#include <gtest/gtest.h>

namespace {

using namespace causeway;

TEST(Zstd, CompressesOneBufferAfterTheOther) {
  std::string longer;
  for (int i = 0; i < 20'000; ++i) longer += std::to_string(i * i % 977);
  ZstdCompressor compressor;
  for (const std::string& text : {longer, std::string("short"), std::string(), longer}) {
    const std::string frame(compressor.compress(text));
    EXPECT_EQ(frame, compress_zstd(text));  // nothing of the buffer before
    EXPECT_EQ(decompress_zstd(frame, "frame", longer.size()), text);
  }
}

}  // namespace
