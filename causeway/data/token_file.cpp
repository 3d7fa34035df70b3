#include "causeway/data/token_file.h"

#include "causeway/core/file.h"
#include "causeway/data/input_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace causeway::data {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "shards are little-endian");

constexpr std::size_t kHeaderBytes = 1024;
using Header = std::array<std::int32_t, kHeaderBytes / 4>;

struct Kind {
  std::int32_t magic;
  std::int32_t version;
  int bits;  // per token
};
constexpr Kind kShort{20240520, 1, 16};
constexpr Kind kLong{20240801, 7, 32};
constexpr Kind kMask{20240802, 1, 1};

fs::path mask_path(fs::path path) { return path.replace_extension(".mask"); }

std::size_t body_bytes(const Kind& kind, std::size_t n_tokens) {
  return (n_tokens * static_cast<std::size_t>(kind.bits) + 7) / 8;
}

// The kind of a file, one of `kinds`, and its number of tokens.
std::pair<Kind, std::int64_t> read_header(const Origin& origin, std::span<const std::byte> file,
                                          std::initializer_list<Kind> kinds) {
  if (file.size() < kHeaderBytes) {
    origin.fail_format(fmt::format("a token shard begins with {} bytes of header, the file has {}",
                                   kHeaderBytes, file.size()));
  }
  Header header;
  std::memcpy(header.data(), file.data(), kHeaderBytes);
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const Kind& one) { return one.magic == header[0]; });
  if (kind == kinds.end()) {
    origin.fail_format(fmt::format("magic number {}, expected {}", header[0],
                                   kinds.size() == 1 ? "20240802" : "20240520 or 20240801"));
  }
  if (header[1] != kind->version) {
    origin.fail_format(fmt::format("version {} of magic number {}, expected {}", header[1],
                                   kind->magic, kind->version));
  }
  const std::int64_t n_tokens = header[2];
  if (n_tokens < 0 ||
      body_bytes(*kind, static_cast<std::size_t>(n_tokens)) != file.size() - kHeaderBytes) {
    origin.fail_format(
        fmt::format("the header declares {} tokens of {} bits, but {} bytes follow it", n_tokens,
                    kind->bits, file.size() - kHeaderBytes));
  }
  return {*kind, n_tokens};
}

void write_file(const fs::path& path, const Kind& kind, std::size_t n_tokens,
                std::span<const std::byte> body) {
  Header header{};
  header[0] = kind.magic;
  header[1] = kind.version;
  header[2] = static_cast<std::int32_t>(n_tokens);
  const std::array<std::span<const std::byte>, 2> pieces{std::as_bytes(std::span(header)), body};
  write_file_atomically("write_token_file", path, pieces);
}

void write_mask(const fs::path& path, const std::vector<bool>& excluded) {
  std::vector<std::byte> bits(body_bytes(kMask, excluded.size()));
  for (std::size_t i = 0; i < excluded.size(); ++i) {
    if (excluded[i]) bits[i / 8] |= std::byte{1} << (i % 8);
  }
  write_file(mask_path(path), kMask, excluded.size(), bits);
}

}  // namespace

TokenFile::TokenFile(const fs::path& path)
    : path_(path), file_(std::make_unique<MappedFile>("open_tokens", path)) {
  const auto [kind, n_tokens] =
      read_header({"open_tokens", path.string()}, file_->bytes(), {kShort, kLong});
  size_ = n_tokens;
  bytes_per_token_ = kind.bits / 8;
  const fs::path mask = mask_path(path);
  if (!fs::exists(mask)) return;
  mask_ = std::make_unique<MappedFile>("open_tokens", mask);
  const Origin origin{"open_tokens", mask.string()};
  const std::int64_t n_masked = read_header(origin, mask_->bytes(), {kMask}).second;
  if (n_masked != size_) {
    origin.fail_format(fmt::format("the mask has {} tokens, its shard {}", n_masked, size_));
  }
}

void TokenFile::read(std::int64_t begin, std::span<std::int64_t> ids) const {
  const std::byte* body = file_->bytes().data() + kHeaderBytes;
  const auto copy = [&](const auto* tokens) {
    std::copy_n(tokens + begin, ids.size(), ids.begin());
  };
  if (bytes_per_token_ == 2) {
    copy(reinterpret_cast<const std::uint16_t*>(body));
  } else {
    copy(reinterpret_cast<const std::uint32_t*>(body));
  }
  file_->require_whole();
}

void TokenFile::mask(std::int64_t begin, std::span<std::int64_t> targets) const {
  if (mask_ == nullptr) return;
  const std::byte* bits = mask_->bytes().data() + kHeaderBytes;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(begin) + i;
    if (((bits[at / 8] >> (at % 8)) & std::byte{1}) != std::byte{0}) targets[i] = kIgnoredTarget;
  }
  mask_->require_whole();
}

void TokenFile::check_ids(TokenId vocabulary) const {
  std::vector<std::int64_t> ids;
  for (std::int64_t begin = 0; begin < size_; begin += std::ssize(ids)) {
    ids.resize(static_cast<std::size_t>(std::min<std::int64_t>(size_ - begin, 1 << 16)));
    read(begin, ids);
    const auto bad =
        std::find_if(ids.begin(), ids.end(), [&](auto id) { return id >= vocabulary; });
    if (bad == ids.end()) continue;
    Origin{"open_tokens", path_.string()}.fail_format(
        fmt::format("token {} has id {}, but the vocabulary has {} ids; the shard was made with "
                    "another tokenizer",
                    begin + (bad - ids.begin()), *bad, vocabulary));
  }
}

void write_token_file(const fs::path& path, std::span<const TokenId> ids, TokenId vocabulary,
                      const std::vector<bool>& excluded) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const Origin origin{"write_token_file", path.string()};
  if (ids.size() > kMost) {
    origin.fail(ErrorKind::invalid_argument,
                fmt::format("{} tokens; a shard has at most {}", ids.size(), kMost));
  }
  if (!excluded.empty() && excluded.size() != ids.size()) {
    origin.fail(ErrorKind::invalid_argument,
                fmt::format("a mask of {} for {} tokens", excluded.size(), ids.size()));
  }
  const auto bad = std::find_if(ids.begin(), ids.end(), [&](auto id) { return id >= vocabulary; });
  if (bad != ids.end()) {
    origin.fail(ErrorKind::invalid_argument, fmt::format("token {} has id {}, expected below {}",
                                                         bad - ids.begin(), *bad, vocabulary));
  }
  std::error_code ignored;
  if (excluded.empty()) {
    fs::remove(mask_path(path), ignored);
  } else {
    write_mask(path, excluded);
  }
  if (vocabulary > 1u << 16) return write_file(path, kLong, ids.size(), std::as_bytes(ids));
  const std::vector<std::uint16_t> narrow(ids.begin(), ids.end());
  write_file(path, kShort, ids.size(), std::as_bytes(std::span(narrow)));
}

TokenShardWriter::TokenShardWriter(fs::path folder, std::string prefix, TokenId vocabulary,
                                   std::int64_t shard_tokens)
    : folder_(std::move(folder)),
      prefix_(std::move(prefix)),
      vocabulary_(vocabulary),
      shard_tokens_(static_cast<std::size_t>(shard_tokens)) {
  if (shard_tokens < 1 || shard_tokens > std::numeric_limits<std::int32_t>::max()) {
    fail(ErrorKind::invalid_argument, "write_token_file",
         fmt::format("{} tokens per shard, expected 1 to {}", shard_tokens,
                     std::numeric_limits<std::int32_t>::max()));
  }
}

void TokenShardWriter::add(std::span<const TokenId> ids, bool excluded) {
  n_tokens_ += std::ssize(ids);
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), shard_tokens_ - ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    excluded_.insert(excluded_.end(), count, excluded);
    any_excluded_ |= excluded;
    ids = ids.subspan(count);
    if (ids_.size() == shard_tokens_) write_shard();
  }
}

std::vector<fs::path> TokenShardWriter::finish() {
  if (!ids_.empty()) write_shard();
  return files_;
}

void TokenShardWriter::write_shard() {
  const fs::path path = folder_ / fmt::format("{}_{:06}.bin", prefix_, files_.size());
  write_token_file(path, ids_, vocabulary_, any_excluded_ ? excluded_ : std::vector<bool>());
  files_.push_back(path);
  ids_.clear();
  excluded_.clear();
  any_excluded_ = false;
}

}  // namespace causeway::data
