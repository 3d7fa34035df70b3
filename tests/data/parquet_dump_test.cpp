// Parquet dumps: what is written is read back in any order; damage and other layouts are refused.
// tests/cli/prior_dump_test.py reads them with pyarrow.
#include "causeway/data/parquet_dump.h"

#include "causeway/tensor/create.h"
#include "tests/data/raw_tensor.h"
#include "tests/data/scratch.h"

#include <gtest/gtest.h>

namespace causeway::data_test {
namespace {

using data::ArrayLayout;
using data::create_parquet;
using data::resume_parquet;

ArrayLayout small_layout() {
  ArrayLayout layout;
  layout.n_entries = 7;
  layout.chunk = 3;
  layout.columns = {{"X", DType::f32, {4, 5}},
                    {"y", DType::f32, {4}},
                    {"one", DType::f32, {2, 1}},
                    {"n", DType::i32, {}},
                    {"hash", DType::i64, {}}};
  layout.constants = {{"most", 3, ""}, {"kind", 0, "classification"}};
  return layout;
}

Tensor numbers(const data::ArrayColumn& column, std::int64_t n) {
  Shape shape = column.entry;
  shape.insert(0, n);
  return arange(0, numel(shape), 1, column.dtype).reshape(shape);
}

TEST(ParquetDump, EntriesAreReadBackInAnyOrder) {
  const Scratch scratch;
  const ArrayLayout layout = small_layout();
  const auto path = scratch / "a.parquet";
  auto file = create_parquet("test", path, layout);
  for (const data::ArrayColumn& column : layout.columns) {
    const Tensor values = numbers(column, 7);
    file->write(column.name, 5, values.slice(0, 5, 7));  // over two row groups
    file->write(column.name, 0, values.slice(0, 0, 5));
  }
  const auto check = [&](data::ArrayFile& found) {
    for (const data::ArrayColumn& column : layout.columns) {
      const Tensor values = numbers(column, 7);
      expect_same(found.read(column.name, 0, 7), values);
      expect_same(found.read(column.name, 2, 3), values.slice(0, 2, 5).contiguous());
    }
  };
  check(*file);
  file->finish();
  const std::string bytes = contents(path);
  EXPECT_TRUE(bytes.starts_with("PAR1") && bytes.ends_with("PAR1"));
  auto again = resume_parquet("test", path, layout);
  check(*again);
  again->finish();
  EXPECT_EQ(contents(path), bytes);
}

TEST(ParquetDump, WhatWasNotWrittenIsNotRead) {
  const Scratch scratch;
  const auto path = scratch / "a.parquet";
  const ArrayLayout layout = small_layout();
  auto file = create_parquet("test", path, layout);
  file->write("X", 0, numbers(layout.columns[0], 2));
  EXPECT_TRUE(says(failure([&] { file->read("X", 1, 2); }), "format: [test]",
                   "entry 2 of \"X\" is damaged or was not written"));
  EXPECT_TRUE(says(failure([&] { file->read("X", 5, 3); }), "invalid_argument:", "the file has 7"));
  file.reset();
  std::filesystem::resize_file(path, 100);
  EXPECT_TRUE(says(failure([&] { resume_parquet("test", path, layout); }), "format: [test]",
                   "the dump is truncated"));
}

TEST(ParquetDump, LayoutsThatDoNotFit) {
  const Scratch scratch;
  const auto refused = [&](const data::ArrayColumn& column) {
    ArrayLayout layout = small_layout();
    layout.columns = {column};
    return failure([&] { create_parquet("test", scratch / "a.parquet", layout); });
  };
  EXPECT_TRUE(says(refused({"X", DType::f32, {2, 3, 4}}), "invalid_argument:", "two dimensions"));
  EXPECT_TRUE(says(refused({"X", DType::f32, {2, 0}}), "invalid_argument:", "not empty"));
  EXPECT_TRUE(says(refused({"X", DType::bf16, {}}), "invalid_argument:", "f32, i32 or i64"));
}

}  // namespace
}  // namespace causeway::data_test
