#include "causeway/data/split_pattern.h"

#include "causeway/data/utf8.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>

namespace causeway::data {
namespace {

using data_test::failure;
using data_test::says;

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view regex, std::string_view text) {
  const SplitPattern pattern(regex);
  Pieces all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = pattern.match(text, at);
    if (end == SplitPattern::kNone) {
      at += code_point_at(text, at).n_bytes;
      continue;
    }
    all.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return all;
}

TEST(SplitPattern, Gpt2) {
  EXPECT_EQ(pieces(kGpt2, "I'll say 12 caf\u00e9s!?  \n x"),
            (Pieces{"I", "'ll", " say", " 12", " caf\u00e9s", "!?", "  \n", " x"}));
  EXPECT_EQ(pieces(kGpt2, "it'S  "), (Pieces{"it", "'", "S", "  "}));
}

TEST(SplitPattern, Llama3) {
  EXPECT_EQ(pieces(kLlama3, "it'S 12345\r\n\r\n  (ok)\n"),
            (Pieces{"it", "'S", " ", "123", "45", "\r\n\r\n", " ", " (", "ok", ")\n"}));
  EXPECT_EQ(pieces(kLlama3, "x'\u017f"), (Pieces{"x", "'\u017f"}));  // long s is a case of s
}

TEST(SplitPattern, Backtracks) {
  EXPECT_EQ(pieces("a*ab", "aaab"), Pieces{"aaab"});
  EXPECT_EQ(pieces("[ab]+b(?!b)", "aabbc"), Pieces{"aabb"});
  EXPECT_EQ(pieces("a{2,3}(?:x|xy)?z", "aaaaxyz aaz"), (Pieces{"aaaxyz", "aaz"}));
  EXPECT_EQ(pieces("a(?=b)", "aab"), Pieces{"a"});
  EXPECT_EQ(pieces("[^\\P{Lu}]+|[a-c-]+", "ABcd-a"), (Pieces{"AB", "c", "-a"}));
}

TEST(SplitPattern, LiteralText) {
  const SplitPattern pattern = SplitPattern::literal("a.\u00e9");
  EXPECT_EQ(pattern.match("xa.\u00e9", 1), 5u);
  EXPECT_EQ(pattern.match("xab\u00e9", 1), SplitPattern::kNone);
}

TEST(SplitPattern, RefusesWhatItDoesNotSupport) {
  const auto refused = [](std::string_view regex) {
    return failure([&] { SplitPattern pattern(regex); });
  };
  for (const char* regex :
       {"a++",    "a*?",        "(ab)+", "(?<=a)b", "^a",          "a$",     ".",  "[a",
        "[[a]b]", "(a",         "a)",    "\\w",     "\\p{Greek}",  "a{3,2}", "a{", "*a",
        "a\\",    "(?i:[a-z])", "[z-a]", "\\x41",   "(?i:\u00e9)", "[a&&b]"}) {
    EXPECT_TRUE(says(refused(regex), "format: [load_tokenizer] regular expression")) << regex;
  }
  EXPECT_TRUE(says(refused("ab\\w"), "format:", "position 4: this escape"));
  EXPECT_TRUE(says(refused(std::string(40, '(')), "format:", "nesting"));
}

}  // namespace
}  // namespace causeway::data
