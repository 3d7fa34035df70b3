// The metadata of Parquet files: schema, places of the column chunks, headers of pages. The numbers
// of the enumerations are those of the format.
#pragma once

#include "causeway/data/input_check.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data::parquet {

enum class Physical { boolean, int32, int64, int96, float32, float64, bytes, fixed_bytes };
enum class Codec { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
enum class Encoding { plain = 0, plain_dictionary = 2, rle = 3, rle_dictionary = 8 };
enum class PageType { data = 0, index = 1, dictionary = 2, data_v2 = 3 };
enum class Meaning { value, text, unsigned_integer, decimal, date, timestamp };

struct SchemaColumn {
  std::string name;
  Physical physical = Physical::bytes;
  Meaning meaning = Meaning::value;
  std::int64_t units_per_second = 1;  // of a timestamp
  int scale = 0;                      // of a decimal: digits after the point
  bool optional = false;
};

// The pages of one column in one row group.
struct Chunk {
  Codec codec = Codec::none;
  std::int64_t n_values = 0;  // nulls included
  std::string_view pages;
};

struct RowGroup {
  std::int64_t n_rows = 0;
  std::vector<Chunk> chunks;  // one per column of the schema
};

struct Metadata {
  std::int64_t n_rows = 0;
  std::vector<SchemaColumn> columns;
  std::vector<RowGroup> row_groups;
};

// Reads the footer of a whole file; chunks are views of `file`. Throws format errors for damaged
// files and for nested or repeated columns.
Metadata read_metadata(std::string_view file, const Origin& origin);

struct PageHeader {
  PageType type = PageType::data;
  std::int64_t size = 0;  // in the file
  std::int64_t decompressed_size = 0;
  std::int64_t n_values = 0;
  int encoding = 0;
  std::int64_t levels_size = 0;  // bytes of levels before the values, for data_v2
  bool is_compressed = true;
};

// Reads the header at the begin of `pages` and removes it.
PageHeader read_page_header(std::string_view& pages, const Origin& origin);

}  // namespace causeway::data::parquet
