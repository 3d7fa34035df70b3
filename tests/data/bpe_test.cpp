#include "causeway/data/bpe.h"

#include "tests/data/scratch.h"

#include <gtest/gtest.h>

namespace causeway::data {
namespace {

using data_test::failure;
using data_test::says;
using Ids = std::vector<TokenId>;

std::string file(std::string_view model, std::string_view rest = "") {
  return R"({"model": {"type": "BPE", )" + std::string(model) + "}" + std::string(rest) + "}";
}

const std::string kVocabulary =
    R"("vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "\u0120": 6, "\u0120a": 7})";

TEST(Bpe, MergesByRankThenPosition) {
  const BpeTokenizer first(file(kVocabulary + R"(, "merges": ["b c", "a b", "a bc"])"), "t");
  EXPECT_EQ(first.encode("abc"), Ids{5});
  EXPECT_EQ(first.encode("abbc"), (Ids{3, 4}));
  const BpeTokenizer second(file(kVocabulary + R"(, "merges": [["a", "b"], ["b", "c"]])"), "t");
  EXPECT_EQ(second.encode("abc"), (Ids{3, 2}));
  EXPECT_EQ(second.encode("ababcb"), (Ids{3, 3, 2, 1}));
  EXPECT_EQ(second.encode("axb"), Ids{3});  // a character without a token is dropped
}

TEST(Bpe, IgnoreMerges) {
  const std::string model = kVocabulary + R"(, "merges": ["a b"])";
  EXPECT_EQ(BpeTokenizer(file(model), "t").encode("abc"), (Ids{3, 2}));
  EXPECT_EQ(BpeTokenizer(file(model + R"(, "ignore_merges": true)"), "t").encode("abc"), Ids{5});
}

TEST(Bpe, ByteLevelAndAddedTokens) {
  const BpeTokenizer tokenizer(
      file(kVocabulary + R"(, "merges": ["a b", "\u0120 a"])",
           R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true},
              "added_tokens": [{"id": 9, "content": "<|endoftext|>", "normalized": false},
                               {"id": 10, "content": "<|end", "normalized": false}])"),
      "t");
  EXPECT_EQ(tokenizer.encode("ab a"), (Ids{6, 3, 7}));
  EXPECT_EQ(tokenizer.encode("c<|endoftext|>c<|end"), (Ids{6, 2, 9, 6, 2, 10}));
  EXPECT_EQ(tokenizer.decode(Ids{7, 1, 9}), " ab<|endoftext|>");
  EXPECT_EQ(tokenizer.vocabulary(), 11u);
  EXPECT_EQ(tokenizer.end_of_text(), 9u);
  EXPECT_TRUE(says(failure([&] { tokenizer.token(8); }), "invalid_argument:", "no id 8"));
}

TEST(Bpe, ByteFallbackAndUnknown) {
  const BpeTokenizer tokenizer(
      file(R"("vocab": {"a": 0, "<0xC3>": 1, "<0xA9>": 2, "<unk>": 3}, "merges": [],
              "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true)"),
      "t");
  EXPECT_EQ(tokenizer.encode("a\u00e9\u4e2d\u4e2da"), (Ids{0, 1, 2, 3, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 2}), "\u00e9");
}

TEST(Bpe, TwoTokenizersInOneThread) {
  const std::string model = kVocabulary + R"(, "merges": [)";
  const BpeTokenizer one(file(model + R"("a b"])"), "t");
  const BpeTokenizer other(file(model + "]"), "t");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.encode("ab"), Ids{3});
    EXPECT_EQ(other.encode("ab"), (Ids{0, 1}));
  }
}

TEST(Bpe, Refuses) {
  const BpeTokenizer tokenizer(file(kVocabulary + R"(, "merges": [])"), "t");
  EXPECT_TRUE(says(failure([&] { tokenizer.encode("a\xed\xa0\x80"); }), "format:", "at byte 1"));
  EXPECT_TRUE(
      says(failure([&] { tokenizer.end_of_text(); }), "invalid_argument:", "<|endoftext|>"));
  EXPECT_TRUE(says(failure([&] { BpeTokenizer("{", "t.json"); }),
                   "format: [load_tokenizer] \"t.json\"", "invalid JSON"));
}

}  // namespace
}  // namespace causeway::data
