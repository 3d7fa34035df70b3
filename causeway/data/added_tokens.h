// Finds added tokens, such as <|endoftext|>, in a text: leftmost, the longest one at each place.
#pragma once

#include "causeway/data/bpe_file.h"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace causeway::data {

class AddedTokens {
 public:
  // Those of `tokens` whose `normalized` is as given.
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized);
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;

  struct Match {
    TokenId id = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // The first token in text[from, end), with the white space that it strips, none of it before
  // `from`.
  std::optional<Match> next(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::map<char, std::size_t> children;
    const AddedToken* token = nullptr;  // that ends here
  };
  const AddedToken* longest_at(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;  // a trie; 0 is the root
  std::array<bool, 256> starts_{};
};

}  // namespace causeway::data
