// The tokens of frequent words: a direct-mapped cache with one cache line per word. A new word
// replaces the one in its slot. Long words and words of many tokens are not kept.
#pragma once

#include "causeway/data/text_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace causeway::data {

class WordCache {
 public:
  WordCache() : slots_(kSlots) {}

  // Appends the tokens of the word if it is known.
  bool find(std::string_view word, std::vector<TokenId>& ids) const {
    if (word.size() > kBytes) return false;
    const Slot& slot = slots_[slot_of(word)];
    if (slot.n_bytes != word.size() || std::memcmp(slot.bytes, word.data(), word.size()) != 0)
      return false;
    ids.insert(ids.end(), slot.ids, slot.ids + slot.n_ids);
    return true;
  }

  void set(std::string_view word, std::span<const TokenId> ids) {
    if (word.size() > kBytes || ids.size() > kIds) return;
    Slot& slot = slots_[slot_of(word)];
    slot.n_bytes = static_cast<std::uint8_t>(word.size());
    slot.n_ids = static_cast<std::uint8_t>(ids.size());
    std::memcpy(slot.bytes, word.data(), word.size());
    std::copy(ids.begin(), ids.end(), slot.ids);
  }

 private:
  static constexpr std::size_t kSlots = 1 << 15;  // 2 MiB
  static constexpr std::size_t kBytes = 30;
  static constexpr std::size_t kIds = 8;

  struct alignas(64) Slot {
    std::uint8_t n_bytes = 0;  // no word is empty
    std::uint8_t n_ids = 0;
    char bytes[kBytes];
    TokenId ids[kIds];
  };

  static std::size_t slot_of(std::string_view word) {
    std::uint64_t hash = word.size();
    for (std::size_t at = 0; at < word.size(); at += 8) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, word.data() + at, std::min<std::size_t>(8, word.size() - at));
      hash = (hash ^ eight) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 32;
    }
    return hash % kSlots;
  }

  std::vector<Slot> slots_;
};

}  // namespace causeway::data
