// SHA-256 and CRC-32C against published values.
#include "causeway/data/sha256.h"

#include "causeway/data/crc32.h"
#include "causeway/data/sha256_blocks.h"
#include "tests/data/scratch.h"

namespace causeway::data_test {
namespace {

// Examples of FIPS 180 and of NIST.
TEST(Sha256, PublishedValues) {
  const auto hash = [](std::string_view text) { return data::sha256(bytes(text)); };
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                 "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::string pattern(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>((i * 7 + size) % 256);
  return text;
}

// The hash over the hashes of all lengths around the block size; from Python's hashlib.
TEST(Sha256, AllLengths) {
  data::Sha256 all;
  for (std::size_t size = 0; size < 300; ++size) {
    all.add(bytes(data::sha256(bytes(pattern(size)))));
  }
  EXPECT_EQ(all.hex(), "def85da8f53f8ad58eda585dce61c0d7bfbb3da6924badae49d32d11288c576f");
}

TEST(Sha256, AnySplitGivesTheSame) {
  const std::string text = pattern(1000);
  const std::string expected = data::sha256(bytes(text));
  for (const std::size_t step : {1, 3, 55, 63, 64, 65, 128, 999}) {
    data::Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += step) hash.add(bytes(text.substr(at, step)));
    hash.add({});
    EXPECT_EQ(hash.hex(), expected) << step;
  }
}

// RFC 3720, B.4, and the standard check value.
TEST(Sha256, EveryPathGivesTheSame) {
  std::vector<std::byte> blocks(64 * 37);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i * i % 251);
  const auto paths = data::sha256_paths();
  ASSERT_STREQ(paths.back().name, "plain");
  data::Sha256State expected{1, 2, 3, 4, 5, 6, 7, 8};
  paths.back().add(expected, blocks.data(), 37);
  for (const data::Sha256Path& path : paths) {
    data::Sha256State state{1, 2, 3, 4, 5, 6, 7, 8};
    path.add(state, blocks.data(), 12);
    path.add(state, blocks.data() + 64 * 12, 25);
    EXPECT_EQ(state, expected) << path.name;
  }
}

TEST(Crc32c, PublishedValues) {
  const auto crc = [](std::string_view text) { return data::crc32c(bytes(text)); };
  EXPECT_EQ(crc(""), 0u);
  EXPECT_EQ(crc("123456789"), 0xe3069283u);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc(std::string(32, '\xff')), 0x62a8ab43u);
  std::string up;
  for (char c = 0; c < 32; ++c) up += c;
  EXPECT_EQ(crc(up), 0x46dd794eu);
  EXPECT_EQ(crc(std::string(up.rbegin(), up.rend())), 0x113fdb5cu);
  EXPECT_EQ(data::crc32c(bytes("6789"), crc("12345")), 0xe3069283u);
  EXPECT_EQ(data::crc32(bytes("123456789")), 0xcbf43926u);
}

}  // namespace
}  // namespace causeway::data_test
