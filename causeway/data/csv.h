// CSV files (RFC 4180) as typed columns, read in batches, each parsed by all threads. Fields may be
// quoted, contain doubled quotes and span lines. Types are inferred from the first rows or
// declared. Files compressed with gzip or Zstandard are decompressed into memory.
#pragma once

#include "causeway/core/mapped_file.h"
#include "causeway/data/csv_fields.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace causeway {

struct CsvOptions {
  char delimiter = '\0';  // '\0': comma, semicolon or tab, whichever the first lines have
  bool header = true;     // the first line has the column names; otherwise "0", "1", ...
  // Texts of missing cells, ignoring surrounding spaces: the defaults of pandas.read_csv.
  std::vector<std::string> missing{"",         "#N/A", "#N/A N/A", "#NA",    "-1.#IND",
                                   "-1.#QNAN", "-NaN", "-nan",     "1.#IND", "1.#QNAN",
                                   "<NA>",     "N/A",  "NA",       "NULL",   "NaN",
                                   "None",     "n/a",  "nan",      "null"};
  std::map<std::string, CsvType> types;  // by column, overrides inference
  std::size_t batch_bytes = std::size_t{32} << 20;
};

// Concatenated strings: row i is bytes[offsets[i], offsets[i + 1]).
struct CsvText {
  std::string bytes;
  std::vector<std::int64_t> offsets{0};
};

struct CsvColumn {
  std::string name;
  CsvType type = CsvType::number;
  // f64 for numbers, NaN if missing; bool; i64 microseconds since 1970 for dates.
  Tensor numbers;
  std::shared_ptr<CsvText> text;  // text columns only
  Tensor missing;                 // bool mask; empty if no value is missing, and for numbers
};

struct CsvBatch {
  std::vector<CsvColumn> columns;
  std::int64_t n_rows = 0;
};

class CsvReader {
 public:
  // Reads the header and infers types. Throws io and format errors that start with [read_csv] and
  // the file name; errors about a cell include its line and column.
  explicit CsvReader(const std::filesystem::path& path, CsvOptions options = {});
  // Reads from memory that must outlive the reader.
  CsvReader(std::string name, std::string_view text, CsvOptions options = {});

  const std::vector<std::string>& names() const { return layout_.names; }
  const std::vector<CsvType>& types() const { return layout_.types; }
  std::size_t n_bytes() const { return text_.size(); }
  std::size_t position() const { return position_; }  // bytes read so far

  // Reads the next rows; returns false at the end, with an empty `batch`.
  bool next(CsvBatch& batch);
  // All remaining rows.
  CsvBatch rest();
  void rewind() { position_ = first_row_, line_ = first_line_; }

 private:
  void begin();
  CsvBatch parse_batch();  // the next rows, possibly none
  void infer_types();

  std::unique_ptr<MappedFile> file_;                 // null for text in memory
  std::unique_ptr<const std::string> decompressed_;  // of a compressed file
  std::string_view text_;
  CsvOptions options_;
  csv::Layout layout_;
  std::size_t first_row_ = 0;
  std::size_t position_ = 0;
  std::int64_t first_line_ = 1;
  std::int64_t line_ = 1;
};

}  // namespace causeway
