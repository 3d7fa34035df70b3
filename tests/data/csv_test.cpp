// CSV files: types, quotes, batches cut anywhere, and positions of errors.
#include "causeway/data/csv.h"

#include "causeway/runtime/pool.h"
#include "causeway/runtime/threads.h"
#include "tests/data/scratch.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>

namespace causeway {
namespace {

using data_test::failure;
using data_test::says;
using data_test::Scratch;

CsvBatch read(const std::string& text, CsvOptions options = {}) {
  CsvReader reader("x.csv", text, std::move(options));
  return reader.rest();
}

std::string cell(const CsvColumn& column, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  if (column.missing.numel() > 0 && column.missing.data_as<bool>()[row]) return "-";
  switch (column.type) {
    case CsvType::number: {
      const double value = column.numbers.data_as<double>()[row];
      return std::isnan(value) ? "-" : fmt::format("{}", value);
    }
    case CsvType::boolean: return column.numbers.data_as<bool>()[row] ? "true" : "false";
    case CsvType::time: return fmt::format("{}", column.numbers.data_as<std::int64_t>()[row]);
    case CsvType::text: break;
  }
  return column.text->bytes.substr(
      static_cast<std::size_t>(column.text->offsets[at]),
      static_cast<std::size_t>(column.text->offsets[at + 1] - column.text->offsets[at]));
}

std::string all(const CsvBatch& batch) {
  std::string text;
  for (std::int64_t row = 0; row < batch.n_rows; ++row) {
    for (const CsvColumn& column : batch.columns) text += cell(column, row) + "|";
    text += "\n";
  }
  return text;
}

TEST(Csv, TypesAreInferred) {
  const CsvBatch batch = read(
      "a,b,c,d,e\n1,true,2026-01-31,x,1e3\n,FALSE,1970-01-01T00:00:01.5Z,\"y, z\",-0.25\n"
      "NA,true,,\"say \"\"hi\"\"\",+7\r\n");
  const CsvType want[] = {CsvType::number, CsvType::boolean, CsvType::time, CsvType::text,
                          CsvType::number};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(batch.columns[i].type, want[i]) << i;
  EXPECT_EQ(
      all(batch),
      "1|true|1769817600000000|x|1000|\n-|false|1500000|y, z|-0.25|\n-|true|-|say \"hi\"|7|\n");
}

TEST(Csv, MissingMarkersMatchPandas) {
  std::string text = "id,x\n";
  const char* markers[] = {"",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                           "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                           "NaN",  "None",   "n/a",      "nan",  "null"};
  for (const char* marker : markers) text += fmt::format("1,{}\n", marker);
  const CsvBatch batch = read(text + "1,7\n");
  EXPECT_EQ(batch.columns[1].type, CsvType::number);
  for (std::int64_t row = 0; row < 19; ++row) EXPECT_EQ(cell(batch.columns[1], row), "-") << row;
  EXPECT_EQ(cell(batch.columns[1], 19), "7");
  EXPECT_EQ(all(read("x\nnone\nNone\n")), "none|\n-|\n");
}

TEST(Csv, UnusualFiles) {
  EXPECT_EQ(all(read("a\n1\n\n2")), "1|\n-|\n2|\n");  // one column: an empty line is a row
  EXPECT_EQ(all(read("a,b\n1,2\n\n\n3,4\n\n")), "1|2|\n3|4|\n");  // several columns: it is skipped
  EXPECT_EQ(all(read("\xef\xbb\xbf"
                     "a,b\r\n1,2\r\n")),
            "1|2|\n");
  EXPECT_EQ(read("a,b\n").n_rows, 0);
  EXPECT_EQ(all(read("\"a\nb\",c\n\"1\n2\",3\n")), "1\n2|3|\n");
  CsvOptions plain;
  plain.header = false;
  plain.delimiter = ';';
  EXPECT_EQ(all(read("1;2\n3;4", plain)), "1|2|\n3|4|\n");
}

TEST(Csv, DelimitersAreDetected) {
  EXPECT_EQ(all(read("a;b\n1;2\n")), "1|2|\n");
  EXPECT_EQ(all(read("a\tb\n1\t2\n")), "1|2|\n");
  EXPECT_EQ(all(read("\n\na;b\n1;2\n")), "1|2|\n");
  EXPECT_EQ(CsvReader("x.csv", "a;b", {}).names().size(), 2U);
  // A name or cell may contain another delimiter, quoted or not.
  EXPECT_EQ(all(read("\"a;b;c\",d\nx,2\n")), "x|2|\n");
  EXPECT_EQ(all(read("one, two, three\tb\nx\t2\n")), "x|2|\n");
  EXPECT_EQ(all(read("a;b\nx, y, z;2\n")), "x, y, z|2|\n");
  EXPECT_EQ(all(read("a\nx\n")), "x|\n");
  EXPECT_TRUE(says(failure([] { read("PAR1\x15"); }), "format: [read_csv]", "is Parquet"));
  CsvOptions comma;
  comma.delimiter = ',';
  EXPECT_EQ(all(read("a;b\n1;2\n", comma)), "1;2|\n");
}

TEST(Csv, NumbersAreCorrectlyRounded) {
  std::mt19937_64 engine(1);
  std::string text = "x\n";
  std::vector<double> want;
  for (int i = 0; i < 20000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(engine() >> 11), static_cast<int>(engine() % 120) - 110);
    const std::string written =
        i % 2 == 0 ? fmt::format("{}", value) : fmt::format("{:.7f}", value);
    want.push_back(std::strtod(written.c_str(), nullptr));
    text += written + "\n";
  }
  const CsvBatch batch = read(text);
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(batch.columns[0].numbers.data_as<double>()[i], want[i]) << i;
  }
}

// The rows do not depend on how the file is split for threads and batches.
TEST(Csv, RowsDoNotDependOnBatchSize) {
  std::mt19937_64 engine(2);
  std::string text = "n,t\n";
  std::string want;
  for (int i = 0; i < 30000; ++i) {
    std::string field;
    for (std::uint64_t k = engine() % 12; k > 0; --k) field += "ab,\"\n\r x"[engine() % 8];
    std::string quoted;
    for (const char letter : field) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    text += fmt::format("{},\"{}\"{}", i, quoted, engine() % 2 == 0 ? "\n" : "\r\n");
    const std::size_t begin = field.find_first_not_of(" ");
    want += fmt::format("{}|{}|\n", i, field.empty() || begin == std::string::npos ? "-" : field);
  }
  const int before = thread_count();
  for (const int threads : {1, 2, 5}) {
    for (const std::size_t bytes : {std::size_t{1000}, std::size_t{77777}, std::size_t{1} << 25}) {
      set_thread_count(threads);
      CsvOptions options;
      options.batch_bytes = bytes;
      EXPECT_EQ(all(read(text, options)), want) << threads << " threads, " << bytes << " bytes";
    }
  }
  set_thread_count(before);
}

TEST(Csv, ErrorsHaveAPosition) {
  const auto refused = [](const std::string& text) { return failure([&] { (void)read(text); }); };
  std::string numbers = "id,age\n";
  for (int i = 0; i < 20; ++i) numbers += i == 16 ? "16,unknown\n" : fmt::format("{},{}\n", i, i);
  EXPECT_TRUE(
      says(refused(numbers),
           "format: [read_csv] \"x.csv\": line 18, column 2 \"age\": expected a number, got "
           "\"unknown\"",
           "--missing"));
  EXPECT_TRUE(
      says(refused("a,b\n1,2\n3\n"),
           "format: [read_csv] \"x.csv\": line 3: expected 2 fields, as in the first line, got 1"));
  EXPECT_TRUE(
      says(refused("a,b\n1,2,3\n"), "format: [read_csv] \"x.csv\": line 2: expected 2 fields"));
  EXPECT_TRUE(
      says(refused("a,b\n1,\"x\n2,y\n"),
           "format: [read_csv] \"x.csv\": line 2, column 2 \"b\": a quoted field is not closed"));
  EXPECT_TRUE(says(
      refused("a,b\nx,y\"z\n"),
      "format: [read_csv] \"x.csv\": line 2, column 2 \"b\": a quote inside an unquoted field"));
  EXPECT_TRUE(says(refused("a,b\n\"x\"y,z\n"), "format: [read_csv]", "after a closing quote"));
  EXPECT_TRUE(says(refused("a,b\nx,\xff\xfe\n"),
                   "format: [read_csv] \"x.csv\": line 2, column 2 \"b\": not UTF-8"));
  EXPECT_TRUE(says(refused("\xff\xfe"
                           "a"),
                   "format: [read_csv] \"x.csv\": the file is UTF-16"));
  EXPECT_TRUE(says(refused("a,a\n1,2\n"), "format: [read_csv] \"x.csv\": line 1, column 2"));
  EXPECT_TRUE(says(refused("a,\n1,2\n"), "format: [read_csv] \"x.csv\": line 1, column 2", "name"));
  EXPECT_TRUE(says(refused(""), "format: [read_csv] \"x.csv\": the file is empty"));
  EXPECT_TRUE(says(failure([] { CsvReader reader(std::filesystem::path("/nowhere.csv")); }),
                   "io: [read_csv] cannot read \"/nowhere.csv\""));
}

TEST(Csv, LinesAreCountedThroughQuotesAndBatches) {
  std::string text = "a,b\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format("{},\"x\ny\"\n", i);
  text += "oops,z\n";
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 25}) {
    CsvOptions options;
    options.batch_bytes = bytes;
    EXPECT_TRUE(
        says(failure([&] { (void)read(text, options); }),
             "format: [read_csv] \"x.csv\": line 10002, column 1 \"a\": expected a number"));
  }
}

TEST(Csv, FilesCanBeReadTwice) {
  const Scratch scratch;
  data_test::put(scratch / "x.csv", "a\n1\n2\n3\n");
  CsvReader reader(scratch / "x.csv");
  EXPECT_EQ(reader.rest().n_rows, 3);
  reader.rewind();
  EXPECT_EQ(reader.rest().n_rows, 3);
}

// Memory is taken for the rows that are there, not for empty lines.
TEST(Csv, EmptyLinesTakeNoMemory) {
  std::string text;
  for (int i = 0; i <= 20'000; ++i) text += fmt::format("{}c{}", i > 0 ? "," : "", i);
  text += std::string(300'000, '\n');
  Pool& pool = pool_of(Device::cpu());
  const std::size_t before = pool.stats().current;
  pool.reset_peak();
  EXPECT_EQ(read(text).n_rows, 0);
  EXPECT_LT(pool.stats().peak - before, std::size_t{64} << 20);
}

TEST(Csv, TimeIsLinearInTheColumns) {
  std::string names;
  std::string row;
  CsvOptions options;
  for (int i = 0; i < 100'000; ++i) {
    names += fmt::format("{}c{}", i > 0 ? "," : "", i);
    row += i > 0 ? ",1" : "1";
    options.types.emplace(fmt::format("c{}", i), CsvType::number);
  }
  const auto start = std::chrono::steady_clock::now();
  const CsvBatch batch = read(names + "\n" + row + "\n" + row + "\n", options);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_EQ(batch.n_rows, 2);
  EXPECT_TRUE(says(failure([&] { read(names + ",c77\n"); }), "format: ", "duplicate column name"));
}

TEST(Csv, AFileTruncatedWhileItIsReadIsAnError) {
  const Scratch scratch;
  std::string text = "a,b\n";
  while (text.size() < 3'000'000) text += "1,2\n";
  data_test::put(scratch / "x.csv", text);
  CsvOptions options;
  options.batch_bytes = 1'000'000;
  CsvReader reader(scratch / "x.csv", options);
  CsvBatch batch;
  ASSERT_TRUE(reader.next(batch));
  std::filesystem::resize_file(scratch / "x.csv", 5000);
  EXPECT_TRUE(says(failure([&] { reader.rest(); }), "io: [read_csv]", "was truncated while"));
}

}  // namespace
}  // namespace causeway
