#include "causeway/data/added_tokens.h"

#include "causeway/data/utf8.h"

#include <algorithm>

namespace causeway::data {

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized) : nodes_(1) {
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(tokens_),
               [&](const AddedToken& token) { return token.normalized == normalized; });
  for (const AddedToken& token : tokens_) {
    std::size_t node = 0;
    for (const char letter : token.pattern) {
      const auto [child, is_new] = nodes_[node].children.try_emplace(letter, nodes_.size());
      node = child->second;
      if (is_new) nodes_.emplace_back();
    }
    nodes_[node].token = &token;
    starts_[static_cast<unsigned char>(token.pattern[0])] = true;
  }
}

const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at) const {
  const AddedToken* longest = nullptr;
  for (std::size_t node = 0; at < text.size(); ++at) {
    const auto child = nodes_[node].children.find(text[at]);
    if (child == nodes_[node].children.end()) break;
    node = child->second;
    if (nodes_[node].token != nullptr) longest = nodes_[node].token;
  }
  return longest;
}

std::optional<AddedTokens::Match> AddedTokens::next(std::string_view text, std::size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!starts_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* token = longest_at(text, at);
    if (token == nullptr) continue;
    Match match{token->id, at, at + token->pattern.size()};
    while (token->strip_left && match.begin > from) {
      const std::size_t before = previous_code_point(text, match.begin);
      if (!is_space(code_point_at(text, before).value)) break;
      match.begin = before;
    }
    while (token->strip_right && match.end < text.size()) {
      const CodePoint character = code_point_at(text, match.end);
      if (!is_space(character.value)) break;
      match.end += character.n_bytes;
    }
    return match;
  }
  return std::nullopt;
}

}  // namespace causeway::data
