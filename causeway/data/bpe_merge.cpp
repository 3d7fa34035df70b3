// The symbols of a word and their merges.
#include "causeway/data/bpe_model.h"
#include "causeway/data/utf8.h"

#include <algorithm>

namespace causeway::data {

namespace {

using Scratch = BpeModel::Scratch;

void add_symbol(Scratch& scratch, TokenId id) {
  const auto position = static_cast<std::int32_t>(scratch.symbols.size());
  if (position > 0) scratch.symbols.back().next = position;
  scratch.symbols.push_back({id, position - 1, -1, false});
}

// Whether `a` is merged after `b`: std::push_heap keeps the largest on top.
bool is_later(const Scratch::Candidate& a, const Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
}

// Adds symbols and the unknown token between them. An unknown token is added when the next known
// character follows, so that several can be fused.
class SymbolWriter {
 public:
  SymbolWriter(Scratch& scratch, std::optional<TokenId> unknown, bool fuse)
      : scratch_(scratch), unknown_(unknown), fuse_(fuse) {}

  void known(TokenId id) {
    flush();
    add_symbol(scratch_, id);
  }
  void unknown() {
    if (!unknown_) return;  // `tokenizers` drops such characters too
    if (pending_ && !fuse_) flush();
    pending_ = true;
  }
  void flush() {
    if (pending_) add_symbol(scratch_, *unknown_);
    pending_ = false;
  }

 private:
  Scratch& scratch_;
  std::optional<TokenId> unknown_;
  bool fuse_;
  bool pending_ = false;
};

}  // namespace

void BpeModel::add_bytes(std::string_view word, Scratch& scratch) const {
  SymbolWriter writer(scratch, unknown_, fuse_unknown_);
  for (const char letter : word) {
    const auto& id = byte_tokens_[static_cast<unsigned char>(letter)];
    if (id) {
      writer.known(*id);
    } else {
      writer.unknown();
    }
  }
  writer.flush();
}

void BpeModel::add_characters(std::string_view word, Scratch& scratch) const {
  SymbolWriter writer(scratch, unknown_, fuse_unknown_);
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, code_point_at(word, at).n_bytes);
    at += character.size();
    const auto has_token = [&](char byte) {
      return byte_tokens_[static_cast<unsigned char>(byte)].has_value();
    };
    if (const auto id = find(character)) {
      writer.known(*id);
    } else if (byte_fallback_ && std::all_of(character.begin(), character.end(), has_token)) {
      for (const char byte : character)  // before a pending unknown token, as `tokenizers` does
        add_symbol(scratch, *byte_tokens_[static_cast<unsigned char>(byte)]);
    } else {
      writer.unknown();
    }
  }
  writer.flush();
}

void BpeModel::merge_all(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    push_pair(static_cast<std::int32_t>(i), scratch);
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    const Scratch::Candidate top = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = symbols[static_cast<std::size_t>(top.position)];
    if (left.is_merged || left.next < 0) continue;
    Scratch::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    const auto* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->merged != top.merged) continue;  // the pair has changed
    left.id = top.merged;
    left.next = right.next;
    right.is_merged = true;
    if (right.next >= 0) symbols[static_cast<std::size_t>(right.next)].previous = top.position;
    for (const std::int32_t changed : {left.previous, top.position}) {
      const std::size_t before = heap.size();
      if (changed >= 0) push_pair(changed, scratch);
      if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), is_later);
    }
  }
}

}  // namespace causeway::data
