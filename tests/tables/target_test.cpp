// Targets: classes or numbers, their order, and the rows that have one.
#include "causeway/tables/target.h"

#include "tests/data/scratch.h"
#include "tests/tables/columns.h"

#include <cmath>
#include <limits>

namespace causeway::tables {
namespace {

using data_test::failure;
using data_test::says;

using Labels = std::vector<std::string>;

TEST(Target, ClassesAreTextOrAFewWholeNumbers) {
  const auto regression = [](const TableColumn& column) {
    return is_regression_target(table_of({column}), "y");
  };
  std::vector<double> ten;
  for (int i = 0; i < 30; ++i) ten.push_back(i % 10);
  EXPECT_FALSE(regression(numbers("y", ten)));
  ten.push_back(10);
  EXPECT_TRUE(regression(numbers("y", ten)));
  EXPECT_TRUE(regression(numbers("y", {1, 2, 2.5})));
  EXPECT_TRUE(regression(text("y", {"1", "2.5", {}})));
  EXPECT_FALSE(regression(text("y", {"1", "2.5", "many"})));
  EXPECT_FALSE(regression(text("y", {"1", "2", {}})));
  EXPECT_FALSE(regression(truths("y", {true, false})));
  EXPECT_FALSE(regression(categories("y", {"1.5", "2.5"}, {0, 1}, false)));
}

TEST(Target, ClassesAreSorted) {
  const auto classes = [](const TableColumn& column) {
    return read_classes(table_of({column}), "y").classes;
  };
  EXPECT_EQ(classes(text("y", {"10", "9", "2"})), (Labels{"2", "9", "10"}));
  EXPECT_EQ(classes(text("y", {"b", "a", "B", "10", "9"})), (Labels{"10", "9", "B", "a", "b"}));
  EXPECT_EQ(classes(numbers("y", {10, 9.5, 2})), (Labels{"2", "9.5", "10"}));
  EXPECT_EQ(classes(truths("y", {true, false})), (Labels{"False", "True"}));
  EXPECT_EQ(classes(text("y", {"1.0", "2", "1"})), (Labels{"1.0", "2"}));  // one value, one class
  EXPECT_EQ(read_classes(table_of({text("y", {"1.0", "2", "1"})}), "y").y.to_vector<double>(),
            (std::vector<double>{0, 1, 0}));
}

TEST(Target, RowsWithoutATargetAreLeftOut) {
  const Target labels = read_classes(table_of({text("y", {"a", {}, "b"})}), "y");
  EXPECT_EQ(labels.rows, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(labels.warnings, Labels{"rows without a value of the target \"y\" are left out: 1"});
  const Target values = read_numbers(table_of({numbers("y", {1, std::nan(""), 2.5})}), "y");
  EXPECT_EQ(values.y.to_vector<double>(), (std::vector<double>{1, 2.5}));
  EXPECT_TRUE(values.classes.empty());
}

TEST(Target, Errors) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto numbers_of = [](const TableColumn& column) {
    return failure([&] { (void)read_numbers(table_of({column}), "y"); });
  };
  EXPECT_TRUE(says(numbers_of(numbers("y", {1, inf})),
                   "invalid_argument: [fit] target \"y\", row 1 (from 0): infinity"));
  EXPECT_TRUE(says(numbers_of(text("y", {"1", "two"})),
                   "invalid_argument: [fit] target \"y\", row 1 (from 0): expected a number, got "
                   "\"two\""));
  EXPECT_TRUE(
      says(numbers_of(numbers("z", {1})),
           "invalid_argument: [fit] the table has no column \"y\" for the target; it has: z"));
  EXPECT_TRUE(says(numbers_of(numbers("y", {std::nan("")})),
                   "invalid_argument: [fit] no row has a value of the target \"y\""));
  EXPECT_TRUE(says(failure([&] {
                     (void)read_classes(table_of({numbers("y", {0, -inf})}), "y");
                   }),
                   "invalid_argument: [fit] target \"y\", row 1 (from 0): infinity"));
}

}  // namespace
}  // namespace causeway::tables
