#include "causeway/data/nfc.h"

#include <gtest/gtest.h>

namespace causeway::data {
namespace {

TEST(Nfc, Composes) {
  EXPECT_EQ(to_nfc(""), "");
  EXPECT_EQ(to_nfc("plain caf\u00e9"), "plain caf\u00e9");
  EXPECT_EQ(to_nfc("e\u0301x"), "\u00e9x");
  EXPECT_EQ(to_nfc("e\u0323\u0302"), "\u1ec7");        // two steps
  EXPECT_EQ(to_nfc("e\u0302\u0323"), "\u1ec7");        // marks are ordered first
  EXPECT_EQ(to_nfc("\u212b\u2126"), "\u00c5\u03a9");   // singletons
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c");         // excluded from composition
  EXPECT_EQ(to_nfc("a\u0301\u0301"), "\u00e1\u0301");  // the second mark is blocked
  EXPECT_EQ(to_nfc("\u0301e"), "\u0301e");             // a mark without a base
}

TEST(Nfc, Hangul) {
  EXPECT_EQ(to_nfc("\u1112\u1161\u11ab"), "\ud55c");
  EXPECT_EQ(to_nfc("\ud558\u11ab"), "\ud55c");        // a tail after a syllable without one
  EXPECT_EQ(to_nfc("\ud55c\u11ab"), "\ud55c\u11ab");  // after one with a tail
}

TEST(Nfc, ManyMarks) {
  std::string text = "a", expected = "\u1ead";  // a with both first marks
  for (int i = 0; i < 100'000; ++i) text += "\u0302\u0323";
  for (int i = 1; i < 100'000; ++i) expected += "\u0323";
  for (int i = 1; i < 100'000; ++i) expected += "\u0302";
  EXPECT_EQ(to_nfc(text), expected);
}

}  // namespace
}  // namespace causeway::data
