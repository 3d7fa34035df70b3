// Parsing a batch's chunks side by side into one set of columns.
#pragma once

#include "causeway/data/csv.h"

#include <span>
#include <string_view>
#include <vector>

namespace causeway::csv {

// Whole records that one thread reads.
struct Chunk {
  std::string_view text;
  std::int64_t first_row = 0;   // in the batch
  std::int64_t most_rows = 0;   // its lines, empty ones too
  std::int64_t n_rows = 0;      // found
  std::int64_t first_line = 0;  // in the file
  std::int64_t n_lines = 0;
  std::vector<CsvText> texts;     // of the text columns, in order
  std::vector<bool> has_missing;  // by column
  Mistake mistake;
  bool out_of_memory = false;
};

// Reads all chunks; `line` is the number of the first and moves behind the last. Throws the first
// mistake in the order of the file.
CsvBatch parse_chunks(const Layout& layout, std::span<Chunk> chunks, std::int64_t& line);

// Batches one after the other; one is handed on as it is.
CsvBatch join(const Layout& layout, std::vector<CsvBatch> parts);

}  // namespace causeway::csv
