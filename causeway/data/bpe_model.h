// Byte-pair encoding of single words: starts with the tokens of characters or bytes and merges the
// adjacent pair of the lowest rank, leftmost first, until no pair has a rank.
#pragma once

#include "causeway/data/bpe_file.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace causeway::data {

// Ranks of pairs of tokens: a hash table with open addressing.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;
    TokenId merged;
  };
  explicit MergeTable(std::size_t n_merges);
  void set(TokenId left, TokenId right, Merge merge);
  const Merge* find(TokenId left, TokenId right) const;

 private:
  struct Slot {
    std::uint64_t pair = kEmpty;
    Merge merge{};
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // ids are below 2^24
  std::size_t slot_of(std::uint64_t pair) const;
  std::vector<Slot> slots_;
};

class BpeModel {
 public:
  // Working memory of one thread.
  struct Scratch {
    struct Symbol {
      TokenId id;
      std::int32_t previous;  // -1: none
      std::int32_t next;      // -1: none
      bool is_merged;         // into the symbol before it
    };
    struct Candidate {
      std::uint32_t rank;
      std::int32_t position;  // of the left symbol
      TokenId merged;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  BpeModel(const Origin& origin, const BpeFile& file);

  // Appends the ids of a word, which is valid UTF-8 unless tokens are bytes. The time is O(n log
  // n).
  void encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const;

  // The bytes of each id; nullopt for ids that the vocabulary does not use.
  const std::vector<std::optional<std::string>>& tokens() const { return tokens_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::optional<TokenId> find(std::string_view text) const;
  void check_alphabet(const Origin& origin) const;
  void add_bytes(std::string_view word, Scratch& scratch) const;
  void add_characters(std::string_view word, Scratch& scratch) const;
  void merge_all(Scratch& scratch) const;
  void push_pair(std::int32_t left, Scratch& scratch) const;

  bool byte_level_;
  bool byte_fallback_;
  bool ignore_merges_;
  bool fuse_unknown_;
  std::optional<TokenId> unknown_;
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> by_text_;
  std::array<std::optional<TokenId>, 256> byte_tokens_;  // of bytes, or <0x00> to <0xFF>
  MergeTable merges_;
  std::vector<std::optional<std::string>> tokens_;
};

}  // namespace causeway::data
