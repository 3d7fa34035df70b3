// The file of a tokenizer: one readable JSON object with everything that defines its tokens.
// Numbers are written in the shortest form that round-trips exactly. Every column has a checksum,
// so that manual edits are detected.
#pragma once

#include "causeway/tokenizer/column.h"
#include "causeway/tokenizer/options.h"

#include <string>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

inline constexpr int kArtefactVersion = 1;

struct Artefact {
  Options options;
  std::vector<Column> columns;
  std::vector<std::int64_t> offsets;  // first token of each column, informational; written
  std::string source;
};

std::string write_artefact(const Artefact& artefact);

// Throws format errors that start with `name`: not JSON, missing key, another version, edges not
// ascending, or a checksum mismatch.
Artefact read_artefact(std::string_view text, const std::string& name);

// A hash of what defines a column's tokens: FNV-1a over names, bits of edges and vocabularies.
std::uint64_t checksum_of(const Column& column);

}  // namespace causeway::tokenizer
