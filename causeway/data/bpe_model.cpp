#include "causeway/data/bpe_model.h"

#include "causeway/data/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace causeway::data {

namespace {

// GPT-2 writes bytes as printable characters: those that are printable in Latin-1 as themselves,
// the others as U+0100 and following. The byte of each character below U+0144; -1 for none.
std::array<int, 0x144> make_alphabet() {
  std::array<int, 0x144> byte_of;
  byte_of.fill(-1);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    byte_of[printable ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return byte_of;
}

// The bytes that a token of the vocabulary encodes; nullopt if it is not in the alphabet.
std::optional<std::string> bytes_of_token(std::string_view token) {
  static const auto byte_of = make_alphabet();
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint character = code_point_at(token, at);
    if (character.value >= byte_of.size() || byte_of[character.value] < 0) return std::nullopt;
    bytes += static_cast<char>(byte_of[character.value]);
    at += character.n_bytes;
  }
  return bytes;
}

// Turns "<0x0A>" into 10.
std::optional<std::uint8_t> fallback_byte(std::string_view token) {
  for (int byte = 0; byte < 256 && token.size() == 6 && token.starts_with("<0x"); ++byte) {
    if (token == fmt::format("<0x{:02X}>", byte)) return static_cast<std::uint8_t>(byte);
  }
  return std::nullopt;
}

}  // namespace

MergeTable::MergeTable(std::size_t n_merges) : slots_(std::bit_ceil(2 * n_merges + 1)) {}

std::size_t MergeTable::slot_of(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (pair * 0x9E3779B97F4A7C15u >> 20) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != kEmpty) at = (at + 1) & mask;
  return at;
}

void MergeTable::set(TokenId left, TokenId right, Merge merge) {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  slots_[slot_of(pair)] = {pair, merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  const Slot& slot = slots_[slot_of(pair)];
  return slot.pair == pair ? &slot.merge : nullptr;
}

BpeModel::BpeModel(const Origin& origin, const BpeFile& file)
    : byte_level_(file.byte_level),
      byte_fallback_(file.byte_fallback),
      ignore_merges_(file.ignore_merges),
      fuse_unknown_(file.fuse_unknown),
      merges_(file.merges.size()) {
  const auto id_of = [&](const std::string& token, std::string_view use) {
    const auto found = file.vocabulary.find(token);
    if (found == file.vocabulary.end())
      origin.fail_format(fmt::format("{} {} is not in the vocabulary", use, shown(token)));
    return found->second;
  };
  for (const auto& [token, id] : file.vocabulary) {
    tokens_.resize(std::max<std::size_t>(tokens_.size(), id + 1));
    const std::optional<std::string> bytes = byte_level_ ? bytes_of_token(token) : token;
    if (bytes) by_text_.emplace(*bytes, id);
    tokens_[id] = bytes.value_or(token);
    if (byte_level_ && bytes && bytes->size() == 1)
      byte_tokens_[static_cast<unsigned char>((*bytes)[0])] = id;
    if (byte_level_ || !byte_fallback_) continue;
    if (const auto byte = fallback_byte(token)) {
      byte_tokens_[*byte] = id;
      tokens_[id] = std::string(1, static_cast<char>(*byte));
    }
  }
  if (file.unknown) unknown_ = id_of(*file.unknown, "unk_token");
  for (std::uint32_t rank = 0; const auto& [left, right] : file.merges) {
    const TokenId merged = id_of(left + right, fmt::format("merge {}:", rank));
    merges_.set(id_of(left, fmt::format("merge {}:", rank)),
                id_of(right, fmt::format("merge {}:", rank)), {rank, merged});
    ++rank;
  }
  check_alphabet(origin);
  for (const AddedToken& token : file.added) {
    tokens_.resize(std::max<std::size_t>(tokens_.size(), token.id + 1));
    tokens_[token.id] = token.content;
  }
}

// With bytes as characters, fallback would apply to the bytes of the printable character, which no
// file can mean.
void BpeModel::check_alphabet(const Origin& origin) const {
  const bool is_complete = std::all_of(byte_tokens_.begin(), byte_tokens_.end(),
                                       [](const auto& id) { return id.has_value(); });
  if (byte_level_ && byte_fallback_ && !is_complete)
    origin.fail_format("model: \"byte_fallback\" with ByteLevel and no token for some bytes");
}

std::optional<TokenId> BpeModel::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? std::nullopt : std::optional(found->second);
}

void BpeModel::encode(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const {
  if (ignore_merges_) {
    if (const auto id = find(word)) return ids.push_back(*id);
  }
  scratch.symbols.clear();
  if (byte_level_) {
    add_bytes(word, scratch);
  } else {
    add_characters(word, scratch);
  }
  if (scratch.symbols.empty()) return;
  merge_all(scratch);
  for (const Scratch::Symbol& symbol : scratch.symbols) {
    if (!symbol.is_merged) ids.push_back(symbol.id);
  }
}

void BpeModel::push_pair(std::int32_t left, Scratch& scratch) const {
  const Scratch::Symbol& symbol = scratch.symbols[static_cast<std::size_t>(left)];
  if (symbol.next < 0) return;
  const TokenId right = scratch.symbols[static_cast<std::size_t>(symbol.next)].id;
  if (const auto* merge = merges_.find(symbol.id, right))
    scratch.heap.push_back({merge->rank, left, merge->merged});
}

}  // namespace causeway::data
