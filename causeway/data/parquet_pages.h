// Decodes the pages of a Parquet column.
#pragma once

#include "causeway/data/parquet_metadata.h"

#include <cstdint>
#include <string>
#include <vector>

namespace causeway::data::parquet {

// The values of a column so far; those that are missing are 0 or empty.
struct Values {
  std::vector<std::int64_t> integers;  // booleans, int32, int64, int96 in nanoseconds since 1970
  std::vector<double> reals;           // float32, float64
  std::string bytes;                   // texts one after the other
  std::vector<std::int64_t> offsets{0};
  std::vector<bool> present;  // one per row

  // Repeats value `at` of `from` at the end.
  void append(const Values& from, std::size_t at, Physical type);
  void append_missing(Physical type);
};

// Appends the values of a chunk. Throws format errors for damaged pages and what is not supported.
void read_chunk(const Chunk& chunk, const SchemaColumn& column, const Origin& origin,
                Values& values);

}  // namespace causeway::data::parquet
