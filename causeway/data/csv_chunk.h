// Parallel parsing of the chunks of a batch into one set of columns.
#pragma once

#include "causeway/data/csv.h"

#include <span>
#include <string_view>
#include <vector>

namespace causeway::csv {

// Whole records parsed by one thread.
struct Chunk {
  std::string_view text;
  std::int64_t first_row = 0;   // in the batch
  std::int64_t most_rows = 0;   // upper bound, by lines and bytes
  std::int64_t n_rows = 0;      // rows found
  std::int64_t first_line = 0;  // in the file
  std::int64_t n_lines = 0;
  std::vector<CsvText> texts;     // of the text columns, in order
  std::vector<bool> has_missing;  // by column
  CsvError error;
  bool out_of_memory = false;
};

// Parses all chunks. `line` is the line number of the first one and is advanced past the last.
// Throws the first error in file order.
CsvBatch parse_chunks(const Layout& layout, std::span<Chunk> chunks, std::int64_t& line);

// Concatenates batches; a single one is returned as it is.
CsvBatch join(const Layout& layout, std::vector<CsvBatch> parts);

}  // namespace causeway::csv
