#include "causeway/data/text_tokenizer.h"

#include "tests/data/scratch.h"

#include <gtest/gtest.h>

namespace causeway::data {
namespace {

using data_test::failure;
using data_test::says;

TEST(ByteTokenizer, RoundTrip) {
  const ByteTokenizer tokenizer;
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  const std::vector<TokenId> ids = tokenizer.encode(text);
  ASSERT_EQ(ids.size(), 256u);
  for (TokenId i = 0; i < 256; ++i) EXPECT_EQ(ids[i], i);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(tokenizer.encode("").size(), 0u);
}

TEST(ByteTokenizer, EndOfText) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.end_of_text(), 256u);
  EXPECT_EQ(tokenizer.vocabulary(), 257u);
  const std::vector<TokenId> ids{'a', 256, 'b'};
  EXPECT_EQ(tokenizer.decode(ids), "ab");
  EXPECT_TRUE(says(failure([&] { tokenizer.token(257); }), "invalid_argument:", "id 257"));
}

class Failing final : public TextTokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text) const override {
    if (text.starts_with("bad")) fail(ErrorKind::format, "encode", text);
    return {static_cast<TokenId>(text.size())};
  }
  std::string decode(std::span<const TokenId>) const override { return {}; }
  TokenId vocabulary() const override { return 1; }
  std::string token(TokenId) const override { return {}; }
  TokenId end_of_text() const override { return 0; }
};

TEST(EncodeAll, KeepsOrderAndThrowsTheFirstError) {
  const Failing tokenizer;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 100; ++i) texts.emplace_back(i * 7 % 31, 'x');
  std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto ids = encode_all(tokenizer, views);
  ASSERT_EQ(ids.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(ids[i], std::vector<TokenId>{TokenId(i * 7 % 31)});
  views[70] = "bad two";
  views[40] = "bad one";
  EXPECT_EQ(failure([&] { encode_all(tokenizer, views); }), "format: [encode] bad one");
  EXPECT_TRUE(encode_all(tokenizer, {}).empty());
}

}  // namespace
}  // namespace causeway::data
