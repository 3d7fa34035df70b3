// Token shards in the format of llm.c: a header of 256 int32 (magic, version, number of tokens),
// then the ids as uint16 (magic 20240520, version 1) or uint32 (20240801, version 7),
// little-endian. A loss mask is a second file next to a shard, with the ending .mask: the same
// header with the magic 20240802, version 1, then one bit per token, lowest bit first; tokens whose
// bit is 1 are no targets.
#pragma once

#include "causeway/core/mapped_file.h"
#include "causeway/data/text_tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace causeway::data {

// The target of tokens that a loss mask excludes; cross_entropy ignores it.
inline constexpr std::int64_t kIgnoredTarget = -100;

// A shard, mapped read-only.
class TokenFile {
 public:
  // Checks magic, version and length, and the length of the mask if there is one. Throws io and
  // format errors that name the file.
  explicit TokenFile(const std::filesystem::path& path);

  std::int64_t size() const { return size_; }               // tokens
  int bytes_per_token() const { return bytes_per_token_; }  // 2 or 4
  bool has_mask() const { return mask_ != nullptr; }
  const std::filesystem::path& path() const { return path_; }

  // Copies tokens [begin, begin + ids.size()), which must exist. Throws an io error if another
  // program truncated the file.
  void read(std::int64_t begin, std::span<std::int64_t> ids) const;
  // Sets targets[i] to kIgnoredTarget where the mask excludes token begin + i.
  void mask(std::int64_t begin, std::span<std::int64_t> targets) const;
  // Reads all tokens. Throws a format error that names the first id that is not below `vocabulary`.
  void check_ids(TokenId vocabulary) const;

 private:
  std::filesystem::path path_;
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<MappedFile> mask_;
  std::int64_t size_ = 0;
  int bytes_per_token_ = 2;
};

// Writes a shard atomically: 2 bytes per token for a vocabulary of at most 65536, otherwise 4.
// `excluded` is empty or has an entry per token, true for tokens that are no targets; the mask is
// written before the shard. An old mask is removed. Throws invalid_argument for ids that are not
// below `vocabulary`.
void write_token_file(const std::filesystem::path& path, std::span<const TokenId> ids,
                      TokenId vocabulary, const std::vector<bool>& excluded = {});

// Cuts a stream of tokens into shards <folder>/<prefix>_000000.bin, <prefix>_000001.bin, ... of
// `shard_tokens` tokens each, the last one shorter. Documents may cross shards.
class TokenShardWriter {
 public:
  TokenShardWriter(std::filesystem::path folder, std::string prefix, TokenId vocabulary,
                   std::int64_t shard_tokens);

  void add(std::span<const TokenId> ids, bool excluded = false);
  // Writes the last shard. Returns all files, in order.
  std::vector<std::filesystem::path> finish();

  std::int64_t n_tokens() const { return n_tokens_; }

 private:
  void write_shard();

  std::filesystem::path folder_;
  std::string prefix_;
  TokenId vocabulary_;
  std::size_t shard_tokens_;
  std::vector<TokenId> ids_;
  std::vector<bool> excluded_;
  bool any_excluded_ = false;  // in the current shard
  std::int64_t n_tokens_ = 0;
  std::vector<std::filesystem::path> files_;
};

}  // namespace causeway::data
