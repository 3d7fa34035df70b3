#include "causeway/data/token_data.h"

#include "causeway/core/error.h"
#include "causeway/data/input_paths.h"
#include "causeway/random/philox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace causeway::data {

namespace {

void check_fraction(std::string_view operation, double fraction) {
  if (fraction >= 0 && fraction <= 1) return;  // not NaN
  fail(ErrorKind::invalid_argument, operation,
       fmt::format("fraction {} for validation, expected 0 to 1", fraction));
}

}  // namespace

bool is_validation(std::uint64_t document, double fraction, std::uint64_t seed) {
  constexpr std::uint64_t kStream = 0x646f6373;  // apart from other uses of the seed
  const Bits128 bits = philox(seed, kStream, document);
  return static_cast<double>(bits.word[0]) < fraction * 0x1p32;
}

TokenData TokenData::open(std::span<const std::string> inputs, TokenId vocabulary) {
  TokenData data;
  const auto is_shard = [](const std::filesystem::path& path) {
    return path.extension() == ".bin";
  };
  for (const auto& path : expand_inputs("open_tokens", inputs, is_shard)) {
    auto file = std::make_shared<const TokenFile>(path);
    if (vocabulary > 0) file->check_ids(vocabulary);
    const std::int64_t size = file->size();
    data.append({.file = std::move(file), .memory = nullptr, .begin = 0, .end = size});
  }
  if (data.size() == 0) {
    fail(ErrorKind::invalid_argument, "open_tokens", "the shards have no tokens");
  }
  return data;
}

TokenData TokenData::from(std::vector<TokenId> ids, std::vector<bool> excluded) {
  if (!excluded.empty() && excluded.size() != ids.size()) {
    fail(ErrorKind::invalid_argument, "token_data",
         fmt::format("a mask of {} for {} tokens", excluded.size(), ids.size()));
  }
  TokenData data;
  const std::int64_t size = std::ssize(ids);
  auto memory = std::make_shared<const Memory>(Memory{std::move(ids), std::move(excluded)});
  data.append({.file = nullptr, .memory = std::move(memory), .begin = 0, .end = size});
  return data;
}

void TokenData::append(Piece piece) {
  if (piece.begin == piece.end) return;
  const std::int64_t count = piece.end - piece.begin;
  const auto continues = [&](const Piece& last) {
    return last.file == piece.file && last.memory == piece.memory && last.end == piece.begin;
  };
  if (!pieces_.empty() && continues(pieces_.back())) {
    pieces_.back().end = piece.end;
    starts_.back() += count;
    return;
  }
  pieces_.push_back(std::move(piece));
  starts_.push_back(starts_.back() + count);
}

template <class Body>
void TokenData::visit(std::int64_t begin, std::int64_t count, const Body& body) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), begin);
  auto piece = static_cast<std::size_t>(next - starts_.begin()) - 1;
  for (std::int64_t done = 0; done < count; ++piece) {
    const std::int64_t offset = begin + done - starts_[piece];
    const std::int64_t here = std::min(count - done, starts_[piece + 1] - starts_[piece] - offset);
    body(pieces_[piece], pieces_[piece].begin + offset, static_cast<std::size_t>(done),
         static_cast<std::size_t>(here));
    done += here;
  }
}

void TokenData::append(const TokenData& other, std::int64_t begin, std::int64_t end) {
  other.visit(begin, end - begin,
              [&](const Piece& piece, std::int64_t from, std::size_t, std::size_t count) {
                append({.file = piece.file,
                        .memory = piece.memory,
                        .begin = from,
                        .end = from + static_cast<std::int64_t>(count)});
              });
}

void TokenData::read(std::int64_t begin, std::span<std::int64_t> ids) const {
  visit(begin, std::ssize(ids),
        [&](const Piece& piece, std::int64_t from, std::size_t to, std::size_t count) {
          const auto part = ids.subspan(to, count);
          if (piece.file) return piece.file->read(from, part);
          std::copy_n(piece.memory->ids.begin() + from, count, part.begin());
        });
}

void TokenData::read_targets(std::int64_t begin, std::span<std::int64_t> targets) const {
  read(begin, targets);
  visit(begin, std::ssize(targets),
        [&](const Piece& piece, std::int64_t from, std::size_t to, std::size_t count) {
          const auto part = targets.subspan(to, count);
          if (piece.file) return piece.file->mask(from, part);
          if (piece.memory->excluded.empty()) return;
          for (std::size_t i = 0; i < count; ++i) {
            if (piece.memory->excluded[static_cast<std::size_t>(from) + i])
              part[i] = kIgnoredTarget;
          }
        });
}

std::pair<TokenData, TokenData> TokenData::split_end(double fraction) const {
  check_fraction("split_end", fraction);
  const std::int64_t at = size() - std::llround(static_cast<double>(size()) * fraction);
  std::pair<TokenData, TokenData> parts;
  parts.first.append(*this, 0, at);
  parts.second.append(*this, at, size());
  return parts;
}

std::pair<TokenData, TokenData> TokenData::split_documents(double fraction, TokenId end_of_text,
                                                           std::uint64_t seed) const {
  check_fraction("split_documents", fraction);
  std::pair<TokenData, TokenData> parts;
  std::uint64_t document = 0;
  std::int64_t start = 0;  // of the document
  const auto finish = [&](std::int64_t end) {
    if (end == start) return;
    TokenData& side = is_validation(document++, fraction, seed) ? parts.second : parts.first;
    side.append(*this, start, end);
    start = end;
  };
  std::vector<std::int64_t> ids;
  for (std::int64_t begin = 0; begin < size(); begin += std::ssize(ids)) {
    ids.resize(static_cast<std::size_t>(std::min<std::int64_t>(size() - begin, 1 << 16)));
    read(begin, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == end_of_text) finish(begin + static_cast<std::int64_t>(i));
    }
  }
  finish(size());
  return parts;
}

}  // namespace causeway::data
