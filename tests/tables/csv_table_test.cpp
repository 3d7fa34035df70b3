// Tables from CSV files: types by all rows, labels as they are written, categories as text.
#include "causeway/tables/csv_table.h"

#include "causeway/tables/cells.h"
#include "causeway/tables/labelled.h"
#include "tests/data/scratch.h"
#include "tests/tables/columns.h"

#include <fmt/format.h>

namespace causeway::tables {
namespace {

using data_test::failure;
using data_test::says;
using data_test::Scratch;

TEST(CsvTable, AllRowsDecideTheTypes) {
  const Scratch scratch;
  std::string rows = "number,late,truth,time,empty,word\n";
  for (int i = 0; i < 3000; ++i) {
    rows += fmt::format("{},{},{},2026-01-{:02},NA,w{}\n", i * 0.5, i == 2999 ? "x" : "1",
                        i % 2 == 0 ? "True" : "false", i % 28 + 1, i % 3);
  }
  data_test::put(scratch / "a.csv", rows);
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{1} << 25}) {
    CsvTableOptions options;
    options.csv.batch_bytes = bytes;
    const Table table = read_csv(scratch / "a.csv", options);
    EXPECT_EQ(table.n_rows(), 3000);
    EXPECT_EQ(table.column(0).numbers.dtype(), DType::f64);
    EXPECT_EQ(table.column(0).numbers.data_as<double>()[2999], 1499.5);
    EXPECT_EQ(table.column(1).type, ValueType::text);
    EXPECT_EQ(table.column(1).text.at(2999), "x");
    EXPECT_EQ(table.column(2).numbers.dtype(), DType::boolean);
    EXPECT_EQ(table.column(3).type, ValueType::time);
    EXPECT_TRUE(Cells(table.column(4), 3000).is_missing(17));
    EXPECT_EQ(table.column(5).text.at(4), "w1");
  }
}

TEST(CsvTable, LabelsKeepTheirText) {
  const Scratch scratch;
  data_test::put(scratch / "a.csv", "x,y\n1,007\n2,1.0\n3,\n4,1\n");
  const LabelledTable table(scratch / "a.csv", "y", false);
  EXPECT_EQ(table.classes, (std::vector<std::string>{"1.0", "007"}));
  EXPECT_EQ(table.y.to_vector<double>(), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(table.x.to_vector<double>(), (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(table.strata(), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_TRUE(says(failure([&] { LabelledTable(scratch / "a.csv", "z", false); }),
                   "invalid_argument: [read_table]",
                   "has no column \"z\" for the target; it has: x, y"));
}

TEST(Cells, ValuesAsText) {
  EXPECT_EQ(text_of_number(5.0), "5");
  EXPECT_EQ(text_of_number(-0.1), "-0.1");
  EXPECT_EQ(text_of_number(1e300), "1e+300");
  EXPECT_EQ(text_of_time(0), "1970-01-01");
  EXPECT_EQ(text_of_time(-1), "1969-12-31T23:59:59.999999");
  for (const char* text : {"1582-10-15", "2000-02-29", "2024-12-31T23:59:59.25", "0001-01-01"}) {
    EXPECT_EQ(text_of_time(*time_of(text)), text);
  }
}

TEST(Table, CategoriesAsText) {
  const Table table =
      table_of({categories("x", {"b", "a"}, {1, 0, -1, 7}, false), numbers("y", {1, 2, 3, 4})});
  Table room;
  const Table& plain = categories_as_text(table, room);
  EXPECT_EQ(plain.column(0).type, ValueType::text);
  EXPECT_EQ(plain.column(0).text.at(0), "a");
  EXPECT_EQ(plain.column(0).text.at(1), "b");
  EXPECT_EQ(plain.column(0).missing.to_vector<bool>(),
            (std::vector<bool>{false, false, true, true}));
  const Table other = table_of({numbers("y", {1})});
  EXPECT_EQ(&categories_as_text(other, room), &other);
}

}  // namespace
}  // namespace causeway::tables
