// A sequence of tokens to train on: shards one after the other, or ids in memory, or parts of
// either. Copies share the tokens.
#pragma once

#include "causeway/data/token_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace causeway::data {

// Whether document number `document` is for validation: a function of its number and the seed.
bool is_validation(std::uint64_t document, double fraction, std::uint64_t seed);

class TokenData {
 public:
  // The shards in the given order. Inputs are files, folders (their .bin files, sorted by name) and
  // shell globs. A vocabulary above 0: every id is checked to be below it, which reads all files.
  // Throws invalid_argument if there is no token.
  static TokenData open(std::span<const std::string> inputs, TokenId vocabulary = 0);
  // `excluded` is empty or has an entry per token, true for tokens that are no targets.
  static TokenData from(std::vector<TokenId> ids, std::vector<bool> excluded = {});

  std::int64_t size() const { return starts_.back(); }

  // Copies tokens [begin, begin + ids.size()), which must exist.
  void read(std::int64_t begin, std::span<std::int64_t> ids) const;
  // The same as targets: kIgnoredTarget where a loss mask excludes the token.
  void read_targets(std::int64_t begin, std::span<std::int64_t> targets) const;

  // (training, validation): the last `fraction` of the tokens is for validation.
  std::pair<TokenData, TokenData> split_end(double fraction) const;
  // (training, validation): each document, which begins with `end_of_text`, is for validation with
  // probability `fraction`. Document k of a seed is always on the same side.
  std::pair<TokenData, TokenData> split_documents(double fraction, TokenId end_of_text,
                                                  std::uint64_t seed = 0) const;

 private:
  struct Memory {
    std::vector<TokenId> ids;
    std::vector<bool> excluded;
  };
  struct Piece {  // tokens [begin, end) of a shard or of memory
    std::shared_ptr<const TokenFile> file;
    std::shared_ptr<const Memory> memory;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  void append(Piece piece);
  // Appends tokens [begin, end) of `other`.
  void append(const TokenData& other, std::int64_t begin, std::int64_t end);
  // Calls body(piece, first token in its source, first output, count) for the pieces of a range.
  template <class Body>
  void visit(std::int64_t begin, std::int64_t count, const Body& body) const;

  std::vector<Piece> pieces_;
  std::vector<std::int64_t> starts_{0};  // of pieces_; the last entry is the total
};

}  // namespace causeway::data
