// The tokenizer's file: one readable JSON object with everything that gives tokens their meaning.
// Numbers are written the shortest way that reads back as the same bits. Every column carries a
// checksum of its meaning, so that an edit by hand does not go unnoticed.
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
  std::vector<std::int64_t> offsets;  // each column's first token, for readers of the file; written
  std::string source;
};

std::string write_artefact(const Artefact& artefact);

// Throws format errors that begin with the file's `name`: what is not JSON, lacks a key, is of
// another version, does not ascend, or does not match its checksum.
Artefact read_artefact(std::string_view text, const std::string& name);

// What a column means, as one number: FNV-1a over names, edges' bits and vocabularies.
std::uint64_t checksum_of(const Column& column);

}  // namespace causeway::tokenizer
