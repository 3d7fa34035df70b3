#include "causeway/core/dtype.h"
#include "causeway/core/environment.h"
#include "causeway/core/error.h"
#include "causeway/core/shape.h"
#include "causeway/core/shown.h"

#include <gtest/gtest.h>

namespace causeway {
namespace {

TEST(Error, MessageKindPlaceAndContext) {
  try {
    with_context("loading the table", [] {
      with_context("reading row 3", [] { fail(ErrorKind::format, "csv.read", "bad number"); });
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_STREQ(error.what(),
                 "[csv.read] bad number; while reading row 3; while loading the table");
    EXPECT_EQ(error.context().size(), 2u);
    EXPECT_NE(std::string(error.where().file_name()).find("core_test.cpp"), std::string::npos);
  }
}

TEST(DType, NamesRoundTrip) {
  for (DType dtype : kAllDTypes) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_THROW(parse_dtype("complex64"), Error);
}

TEST(DType, PromotionIsSymmetricAndHoldsBoth) {
  for (DType a : kAllDTypes) {
    EXPECT_EQ(promote(a, a), a);
    for (DType b : kAllDTypes) {
      EXPECT_EQ(promote(a, b), promote(b, a));
      EXPECT_EQ(is_floating(promote(a, b)), is_floating(a) || is_floating(b));
    }
  }
  EXPECT_EQ(promote(DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(promote(DType::u16, DType::i16), DType::i32);
  EXPECT_EQ(promote(DType::u16, DType::i64), DType::i64);
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::boolean, DType::u8), DType::u8);
}

TEST(Shape, CountsAndStrides) {
  EXPECT_EQ(numel({}), 1);
  EXPECT_EQ(numel({2, 0, 3}), 0);
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_THROW(numel({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_EQ(numel({std::int64_t{1} << 40, std::int64_t{1} << 40, 0}), 0);
  EXPECT_THROW(numel({-1}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_EQ(to_string(Shape{4}), "(4,)");
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast("add", {3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast("add", {}, {2, 0}), (Shape{2, 0}));
  EXPECT_EQ(broadcast("add", {1}, {0}), (Shape{0}));
  try {
    broadcast("add", {2, 3}, {4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape_mismatch);
    const std::string text = error.what();
    EXPECT_NE(text.find("[add]"), std::string::npos);
    EXPECT_NE(text.find("(2, 3)"), std::string::npos);
    EXPECT_NE(text.find("(4,)"), std::string::npos);
  }
}

TEST(Shape, Axes) {
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_THROW(normalize_axis("sum", 3, 3), Error);
  EXPECT_THROW(normalize_axis("sum", 0, 0), Error);
}

TEST(Environment, Bytes) {
  EXPECT_EQ(parse_bytes("x", "4096"), 4096u);
  EXPECT_EQ(parse_bytes("x", "1.5 KiB"), 1536u);
  EXPECT_EQ(parse_bytes("x", "2g"), std::size_t{2} << 30);
  for (const char* bad : {"", "GiB", "-1", "4 parsecs", "1e30"}) {
    EXPECT_THROW(parse_bytes("x", bad), Error) << bad;
  }
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12), "12 B");
}

TEST(Shown, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\tb\n"), "a\tb\n");
  EXPECT_EQ(printable("café €"), "café €");
  EXPECT_EQ(printable("\x1b[2Jx\x7f\r"), "\\x1b[2Jx\\x7f\\x0d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b"
            "31m");                                                  // CSI as one character
  EXPECT_EQ(printable("\x9b\xff\xe2\x82"), "\\x9b\\xff\\xe2\\x82");  // not UTF-8
  // Characters that reverse the text after them; their neighbours do not.
  EXPECT_EQ(printable("a\u202eb\u2066c"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c");
  EXPECT_EQ(printable("\u2029\u202f\u2065\u206a"), "\u2029\u202f\u2065\u206a");
}

TEST(Shown, ListsAreShortened) {
  EXPECT_EQ(shown_list({}), "");
  EXPECT_EQ(shown_list({"a", "b"}), "a, b");
  const std::string list = shown_list(std::vector<std::string>(100'000, "x"));
  EXPECT_LT(list.size(), 100u);
  EXPECT_TRUE(list.ends_with("x, x and 99980 more"));
}

TEST(Shown, WordsOfAShell) {
  EXPECT_EQ(shell_word("runs/a-1.csv"), "runs/a-1.csv");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace causeway
