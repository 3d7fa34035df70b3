// How columns of any type become numbers, and what happens where query rows differ from fit.
#include "causeway/tables/encoder.h"

#include "causeway/tables/csv_table.h"
#include "tests/data/scratch.h"
#include "tests/tables/columns.h"

#include <cmath>
#include <limits>

namespace causeway::tables {
namespace {

using data_test::failure;
using data_test::says;

using Values = std::vector<double>;

// The column "x" of one table after another was fitted.
struct Encoded {
  Values values;
  std::vector<std::string> warnings;
};

Encoded encode(const TableColumn& fitted, const TableColumn& given) {
  const TableEncoder encoder = TableEncoder::fit(table_of({fitted}));
  Encoded out;
  out.values = encoder.transform(table_of({given}), out.warnings).to_vector<double>();
  return out;
}

void expect_values(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    } else {
      EXPECT_EQ(got[i], want[i]) << i;
    }
  }
}

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

TEST(Encoder, TextIsReadAsCells) {
  const auto itself = [](const TableColumn& column) { return encode(column, column).values; };
  expect_values(itself(text("x", {"1.5", " 20 ", {}, "-3e2"})), {1.5, 20, kMissing, -300});
  expect_values(itself(text("x", {"True", "false", {}})), {1, 0, kMissing});
  // 1970 began on a Thursday.
  expect_values(itself(text("x", {"1970-01-02", "1970-01-01T00:00:01.5Z", {}})),
                {86400e6, 1, 2, 4, 0, 1.5e6, 1, 1, 3, 1.5 / 3600, kMissing, kMissing, kMissing,
                 kMissing, kMissing});
  expect_values(itself(text("x", {"pear", "apple", {}, "Fig", "\xc3\xa9"})),
                {2, 1, kMissing, 0, 3});
  expect_values(itself(text("x", {"10", "9", "x"})), {0, 1, 2});  // by bytes: not all are numbers
}

TEST(Encoder, CategoriesHaveAnOrder) {
  const auto itself = [](const TableColumn& column) { return encode(column, column).values; };
  expect_values(itself(categories("x", {"10", "9", "2"}, {0, 1, 2, -1}, false)),
                {2, 1, 0, kMissing});  // by value
  expect_values(itself(categories("x", {"s", "m", "l", "xl"}, {2, 0, 1}, true)), {2, 0, 1});
  expect_values(itself(categories("x", {"s", "m", "l", "xl"}, {2, 0, 1}, false)), {0, 2, 1});
  // Declared and ordered, a category that fit did not see has a place; unordered it has none.
  const auto later = text("x", {"xl"});
  expect_values(encode(categories("x", {"s", "m", "l", "xl"}, {2, 0, 1}, true), later).values, {3});
  const Encoded unseen = encode(categories("x", {"s", "m", "l", "xl"}, {2, 0, 1}, false), later);
  expect_values(unseen.values, {kMissing});
  EXPECT_EQ(unseen.warnings.size(), 1u);
}

TEST(Encoder, NumbersBooleansAndTimesStay) {
  expect_values(encode(numbers("x", {1, kMissing, 2.5}), numbers("x", {7, kMissing})).values,
                {7, kMissing});
  expect_values(encode(truths("x", {true, false}), truths("x", {false, true})).values, {0, 1});
  const TableColumn seconds = times("x", {1, -1}, 1);
  const TableColumn nanoseconds = times("x", {1'999'999'999, -1}, 1'000'000'000);
  const auto first_parts = [](const Encoded& encoded) {
    return Values{encoded.values[0], encoded.values[5]};
  };
  expect_values(first_parts(encode(seconds, seconds)), {1e6, -1e6});
  expect_values(first_parts(encode(seconds, nanoseconds)), {1'999'999, -1});  // rounded down
}

TEST(Encoder, TimesHaveParts) {
  const TableColumn column = text("x", {"2024-02-29T18:30", "1969-12-31"});  // before 1970 too
  expect_values(encode(column, column).values,
                {1709231400e6, 2, 29, 3, 18.5, -86400e6, 12, 31, 2, 0});
  const TableEncoder encoder = TableEncoder::fit(table_of({column, numbers("n", {1, 2})}));
  EXPECT_EQ(encoder.names(), (std::vector<std::string>{"x", "n"}));
  EXPECT_EQ(encoder.features().names, (std::vector<std::string>{"x", "x", "x", "x", "x", "n"}));
  EXPECT_EQ(encoder.features().categorical, std::vector<bool>(6, false));
}

TEST(Encoder, MarksCategories) {
  std::vector<std::optional<std::string>> notes;
  for (int i = 0; i < 30; ++i) notes.push_back("note " + std::to_string(i));
  const std::vector<std::int64_t> codes(30, 1);
  const TableEncoder encoder = TableEncoder::fit(
      table_of({text("town", std::vector<std::optional<std::string>>(30, "Ulm")),
                truths("truth", std::vector<bool>(30, true)), text("note", notes),
                categories("size", {"s", "m"}, codes, true), numbers("n", Values(30, 1))}));
  std::vector<bool> want(encoder.features().names.size(), false);
  want.front() = true;           // town
  want[want.size() - 2] = true;  // size
  EXPECT_EQ(encoder.features().categorical, want);
  EXPECT_GT(want.size(), 5u);  // of text
  EXPECT_EQ(TableEncoder::from_json(encoder.to_json()).features().categorical, want);
}

double distance(const Values& values, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    sum += std::pow(values[a * 16 + i] - values[b * 16 + i], 2);
  }
  return sum;
}

// 20 or more different texts, most of them different, are hashed; texts that share words are near
// each other. A declared category never is text.
TEST(Encoder, FreeTextIsHashed) {
  std::vector<std::optional<std::string>> notes;
  std::vector<std::string> names;
  std::vector<std::int64_t> codes;
  for (int i = 0; i < 20; ++i) {
    names.push_back("note " + std::to_string(i * 7919));
    notes.push_back(names.back());
    codes.push_back(i);
  }
  const TableColumn column = text("x", notes);
  const TableColumn query =
      text("x", {"Please refund my order!", "please REFUND order", "weather is nice today", {}});
  const Encoded got = encode(column, query);
  ASSERT_EQ(got.values.size(), 4u * 16);
  EXPECT_TRUE(got.warnings.empty());
  EXPECT_LT(2 * distance(got.values, 0, 1), distance(got.values, 0, 2));
  EXPECT_TRUE(std::isnan(got.values[3 * 16]));
  EXPECT_EQ(encode(column, query).values[5], got.values[5]);
  EXPECT_EQ(encode(text("x", {notes.begin(), notes.end() - 1}), query).values.size(), 4u);
  EXPECT_EQ(encode(categories("x", names, codes, false), query).values.size(), 4u);
  notes.insert(notes.end(), 40, "the same");
  EXPECT_EQ(encode(text("x", notes), query).values.size(), 4u);
}

TEST(Encoder, TypesMayChangeWhereTheMeaningIsPlain) {
  const TableColumn number = numbers("x", {1, 2});
  expect_values(encode(number, text("x", {"2.5", {}})).values, {2.5, kMissing});
  expect_values(encode(number, truths("x", {true})).values, {1});
  expect_values(encode(truths("x", {true, false}), text("x", {"TRUE", "0"})).values, {1, 0});
  expect_values(encode(truths("x", {true, false}), numbers("x", {1, 0})).values, {1, 0});
  expect_values(encode(times("x", {0}, 1), text("x", {"1970-01-01T00:00:02"})).values,
                {2e6, 1, 1, 3, 2.0 / 3600});
  expect_values(encode(times("x", {0}, 1), numbers("x", {kMissing})).values,
                {kMissing, kMissing, kMissing, kMissing, kMissing});
  // Numbers, booleans and times find the category that spells them.
  const TableColumn mixed = text("x", {"5", "7.0", "true", "2026-01-31", "word"});
  expect_values(encode(mixed, numbers("x", {5, 7})).values, {1, 2});
  expect_values(encode(mixed, truths("x", {true})).values, {3});
  expect_values(encode(mixed, times("x", {1769817600}, 1)).values, {0});
  expect_values(encode(mixed, text("x", {"5.0", "05", "True", "word"})).values, {1, 1, 3, 4});
}

TEST(Encoder, OtherChangesAreErrorsThatNameTheCell) {
  const auto refused = [](const TableColumn& fitted, const TableColumn& given) {
    return failure([&] { (void)encode(fitted, given); });
  };
  EXPECT_TRUE(
      says(refused(numbers("x", {1}), text("x", {"2", "many"})),
           "invalid_argument: [predict] column \"x\", row 1 (from 0): expected a number, as "
           "in fit, got \"many\""));
  EXPECT_TRUE(says(refused(truths("x", {true}), text("x", {"maybe"})),
                   "invalid_argument: [predict]",
                   "expected true or false, as in fit, got \"maybe\""));
  EXPECT_TRUE(says(refused(times("x", {0}, 1), numbers("x", {12})), "invalid_argument: [predict]",
                   "expected a time such as 2026-01-31T12:00, as in fit, got \"12\""));
  EXPECT_TRUE(says(refused(numbers("x", {1}), times("x", {86400}, 1)),
                   "invalid_argument: [predict]",
                   "expected a number, as in fit, got \"1970-01-02\""));
}

TEST(Encoder, InfinityIsAnError) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const TableColumn& bad :
       {numbers("x", {0, -inf}), text("x", {"1", "inf"}), text("x", {"1", "1e999"})}) {
    EXPECT_TRUE(says(failure([&] { (void)encode(bad, bad); }),
                     "invalid_argument: [predict] column \"x\", row 1 (from 0): infinity"));
    EXPECT_TRUE(says(failure([&] { (void)encode(numbers("x", {1}), bad); }),
                     "invalid_argument: [predict] column \"x\", row 1 (from 0): infinity"));
  }
}

TEST(Encoder, UnseenCategoriesAreMissing) {
  const Encoded out =
      encode(text("x", {"a", "b"}), text("x", {"c", "a", "d", "c", "e", "f", {}, "g"}));
  expect_values(out.values,
                {kMissing, 0, kMissing, kMissing, kMissing, kMissing, kMissing, kMissing});
  ASSERT_EQ(out.warnings.size(), 1u);
  EXPECT_EQ(
      out.warnings[0],
      "column \"x\": values not seen in fit are treated as missing: \"c\", \"d\", \"e\" and 2 "
      "more");
}

TEST(Encoder, ColumnsWithoutValuesAreIgnored) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const TableColumn& empty : {numbers("x", {kMissing, kMissing}), text("x", {{}, {}})}) {
    for (const TableColumn& given :
         {numbers("x", {1, inf}), text("x", {"word", "more"}), times("x", {1, 2}, 1)}) {
      const Encoded out = encode(empty, given);
      expect_values(out.values, {kMissing, kMissing});
      EXPECT_TRUE(out.warnings.empty());
    }
  }
}

TEST(Encoder, ContextRowsDecide) {
  const Table table = table_of({text("x", {"1", "word", "3"})});
  std::vector<std::string> warnings;
  const std::vector<std::int64_t> some = {0, 2};
  expect_values(TableEncoder::fit(table, some).transform(table, some, warnings).to_vector<double>(),
                {1, 3});
  EXPECT_EQ(TableEncoder::fit(table).columns()[0].kind(), ColumnKind::category);
}

TEST(Encoder, ColumnsAreFoundByName) {
  const TableEncoder encoder =
      TableEncoder::fit(table_of({numbers("a", {1}), numbers("y", {0}), text("b", {"w"})}), "y");
  EXPECT_EQ(encoder.names(), (std::vector<std::string>{"a", "b"}));
  std::vector<std::string> warnings;
  const Table other = table_of({text("b", {"w"}), text("c", {"?"}), numbers("a", {4})});
  expect_values(encoder.transform(other, warnings).to_vector<double>(), {4, 0});
  EXPECT_TRUE(says(
      failure([&] { encoder.transform(table_of({text("c", {"?"})}), warnings); }),
      "invalid_argument: [predict] the table has no column \"a\", \"b\"; all 2 columns of fit"));
  EXPECT_TRUE(says(failure([] { TableEncoder::fit(table_of({numbers("y", {0})}), "y"); }),
                   "invalid_argument: [fit] the table has no column but the target \"y\""));
  EXPECT_TRUE(says(failure([] {
                     TableEncoder::fit(table_of({numbers("a", {0}), numbers("a", {0})}));
                   }),
                   "invalid_argument: [fit] the table has several columns named \"a\""));
}

TEST(Encoder, IsText) {
  const Table table =
      table_of({numbers("n", {1, 2}), text("t", {"b", "\xc3\xa9\""}), truths("b", {true, false}),
                times("when", {1, 2}, 1000), numbers("empty", {kMissing, kMissing})});
  const TableEncoder encoder = TableEncoder::fit(table);
  const TableEncoder read = TableEncoder::from_json(encoder.to_json());
  std::vector<std::string> warnings;
  expect_values(read.transform(table, warnings).to_vector<double>(),
                encoder.transform(table, warnings).to_vector<double>());
  EXPECT_EQ(read.to_json(), encoder.to_json());
  EXPECT_TRUE(says(failure([] { TableEncoder::from_json("{}"); }), "format: [tables]"));
}

}  // namespace
}  // namespace causeway::tables
