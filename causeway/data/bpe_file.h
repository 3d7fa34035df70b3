// The content of a tokenizer.json with a BPE model, checked: what is not supported is refused.
#pragma once

#include "causeway/data/input_check.h"
#include "causeway/data/split_pattern.h"
#include "causeway/data/text_tokenizer.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace causeway::data {

// One step of the pre-tokenizer: cuts each piece of text into pieces.
struct SplitStep {
  bool prefix_space = false;            // first put a space before a piece that has none
  std::optional<SplitPattern> pattern;  // none: no cut
  bool keep_matches = true;
  bool keep_gaps = true;  // the text between matches
};

// A token that is found in the text before the pre-tokenizer runs.
struct AddedToken {
  std::string content;
  std::string pattern;  // the content as it is in the text: normalized if `normalized` is set
  TokenId id = 0;
  bool normalized = false;   // found in the normalized text
  bool strip_left = false;   // includes the white space before it
  bool strip_right = false;  // and after it
};

struct BpeFile {
  std::unordered_map<std::string, TokenId> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges;  // first ones first
  std::optional<std::string> unknown;                       // the token of characters without one
  bool fuse_unknown = false;                                // several unknown ones are one token
  bool byte_fallback = false;  // characters without a token become tokens <0x00> to <0xFF>
  bool ignore_merges = false;  // a word that is a token is not split
  bool byte_level = false;     // tokens are bytes in GPT-2's printable alphabet
  bool nfc = false;            // the text is normalized
  std::vector<SplitStep> steps;
  std::vector<AddedToken> added;
};

// Throws format errors that name the file and the key.
BpeFile read_bpe_file(const Origin& origin, std::string_view json);

}  // namespace causeway::data
