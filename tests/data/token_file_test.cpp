#include "causeway/data/token_file.h"

#include "tests/data/scratch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace causeway::data {
namespace {

using data_test::contents;
using data_test::failure;
using data_test::put;
using data_test::says;
using data_test::Scratch;

std::vector<std::int64_t> all(const TokenFile& file) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(file.size()));
  file.read(0, ids);
  return ids;
}

// A file as llm.c's Python scripts write it.
std::string shard(std::vector<std::int32_t> start, std::string_view body) {
  start.resize(256);
  std::string text(1024, '\0');
  std::memcpy(text.data(), start.data(), 1024);
  return text + std::string(body);
}

TEST(TokenFile, RoundTripNarrow) {
  const Scratch scratch;
  const std::vector<TokenId> ids{0, 50256, 65535, 7};
  write_token_file(scratch / "a.bin", ids, 65536);
  const TokenFile file(scratch / "a.bin");
  EXPECT_EQ(file.bytes_per_token(), 2);
  EXPECT_FALSE(file.has_mask());
  EXPECT_EQ(all(file), (std::vector<std::int64_t>{0, 50256, 65535, 7}));
  EXPECT_EQ(contents(scratch / "a.bin"),
            shard({20240520, 1, 4}, std::string_view("\0\0\x50\xc4\xff\xff\x07\0", 8)));
  EXPECT_EQ(scratch.n_files(), 1u);
}

TEST(TokenFile, RoundTripWide) {
  const Scratch scratch;
  const std::vector<TokenId> ids{128255, 1};
  write_token_file(scratch / "a.bin", ids, 128256);
  const TokenFile file(scratch / "a.bin");
  EXPECT_EQ(file.bytes_per_token(), 4);
  EXPECT_EQ(all(file), (std::vector<std::int64_t>{128255, 1}));
  EXPECT_EQ(contents(scratch / "a.bin"),
            shard({20240801, 7, 2}, std::string_view("\xff\xf4\x01\0\x01\0\0\0", 8)));
}

TEST(TokenFile, MaskExcludesTargets) {
  const Scratch scratch;
  std::vector<TokenId> ids(19);
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<bool> excluded(19, false);
  excluded[3] = excluded[8] = excluded[18] = true;
  write_token_file(scratch / "a.bin", ids, 257, excluded);
  std::vector<std::int64_t> targets(17);
  const TokenFile file(scratch / "a.bin");
  file.read(2, targets);
  file.mask(2, targets);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t token = i + 2;
    EXPECT_EQ(targets[i], excluded[token] ? kIgnoredTarget : static_cast<std::int64_t>(token));
  }
  write_token_file(scratch / "a.bin", ids, 257);  // an old mask does not survive
  EXPECT_FALSE(TokenFile(scratch / "a.bin").has_mask());
}

TEST(TokenFile, RefusesDamage) {
  const Scratch scratch;
  const auto opened = [&](const std::string& text) {
    put(scratch / "a.bin", text);
    return failure([&] { TokenFile(scratch / "a.bin"); });
  };
  EXPECT_EQ(opened(shard({20240520, 1, 1}, "ab")), "");
  EXPECT_EQ(opened(shard({20240520, 1, 0}, "")), "");
  EXPECT_TRUE(says(opened(""), "format: [open_tokens]", "the file has 0"));
  EXPECT_TRUE(says(opened(shard({1, 1, 1}, "ab")), "format:", "magic number 1,"));
  EXPECT_TRUE(says(opened(shard({20240520, 2, 1}, "ab")), "format:", "version 2"));
  EXPECT_TRUE(says(opened(shard({20240801, 1, 1}, "abcd")), "format:", "expected 7"));
  EXPECT_TRUE(says(opened(shard({20240520, 1, 2}, "ab")), "format:", "declares 2 tokens"));
  EXPECT_TRUE(says(opened(shard({20240520, 1, 1}, "abc")), "format:", "3 bytes follow"));
  EXPECT_TRUE(says(opened(shard({20240520, 1, -1}, "ab")), "format:", "-1 tokens"));
  EXPECT_TRUE(says(failure([&] { TokenFile(scratch / "b.bin"); }), "io:", "b.bin"));
  put(scratch / "a.bin", shard({20240520, 1, 9}, std::string(18, 'x')));
  put(scratch / "a.mask", shard({20240802, 1, 8}, "x"));
  EXPECT_TRUE(
      says(failure([&] { TokenFile(scratch / "a.bin"); }), "format:", "8 tokens, its shard 9"));
}

TEST(TokenFile, ChecksIds) {
  const Scratch scratch;
  std::vector<TokenId> ids(100'000, 3);
  ids[99'999] = 300;
  write_token_file(scratch / "a.bin", ids, 1000);
  const TokenFile file(scratch / "a.bin");
  file.check_ids(301);
  EXPECT_TRUE(says(failure([&] { file.check_ids(300); }), "format:", "token 99999 has id 300"));
  EXPECT_TRUE(says(failure([&] { write_token_file(scratch / "b.bin", ids, 300); }),
                   "invalid_argument:", "token 99999 has id 300"));
}

TEST(TokenShardWriter, CutsTheStream) {
  const Scratch scratch;
  TokenShardWriter writer(scratch.folder(), "train", 257, 10);
  for (TokenId first = 0; first < 24; first += 3) {
    const std::vector<TokenId> ids{first, first + 1, first + 2};
    writer.add(ids, first == 9);
  }
  EXPECT_EQ(writer.n_tokens(), 24);
  const auto files = writer.finish();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[2].filename(), "train_000002.bin");
  EXPECT_EQ(all(TokenFile(files[2])), (std::vector<std::int64_t>{20, 21, 22, 23}));
  EXPECT_TRUE(TokenFile(files[0]).has_mask());  // tokens 9 to 11 are excluded
  EXPECT_TRUE(TokenFile(files[1]).has_mask());
  EXPECT_FALSE(TokenFile(files[2]).has_mask());
  std::vector<std::int64_t> targets(10);
  TokenFile(files[1]).mask(0, targets);
  EXPECT_EQ(targets, (std::vector<std::int64_t>{-100, -100, 0, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace causeway::data
