// Categories and their ids, the most frequent first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace causeway::tokenizer {

struct TextHash {
  using is_transparent = void;
  // FNV-1a over the bytes, mixed. It also selects the bucket of unknown values, so it is part of
  // the artefact format and must not change.
  std::uint64_t operator()(std::string_view text) const;
};

// Counts of values; counts of parts add up to those of the whole.
class CategoryCounts {
 public:
  void add(std::string_view value, std::int64_t times = 1);
  void merge(const CategoryCounts& other);
  std::size_t size() const { return counts_.size(); }
  const auto& entries() const { return counts_; }

 private:
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> counts_;
};

class Vocabulary {
 public:
  Vocabulary() = default;
  // Values in token order. `counts` may be empty.
  Vocabulary(std::vector<std::string> values, std::vector<std::int64_t> counts,
             std::int64_t unknown_buckets, std::int64_t n_unknown);
  // Sorted by decreasing count, then by bytes. Values rarer than min_count or beyond the first
  // max_size are unknown.
  static Vocabulary of(const CategoryCounts& counts, std::int64_t min_count, std::int64_t max_size,
                       std::int64_t unknown_buckets);

  const std::vector<std::string>& values() const { return values_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  std::int64_t unknown_buckets() const { return unknown_buckets_; }
  std::int64_t n_unknown() const { return n_unknown_; }  // values at fit time that were dropped

  // The id of a value: 0 to size() - 1, or size() plus the bucket of an unknown value.
  std::int64_t find(std::string_view value) const;

 private:
  using Index = std::unordered_map<std::string_view, std::int64_t, TextHash, std::equal_to<>>;

  std::vector<std::string> values_;
  std::vector<std::int64_t> counts_;
  std::int64_t unknown_buckets_ = 0;
  std::int64_t n_unknown_ = 0;
  std::shared_ptr<const std::vector<std::string>> indexed_;  // strings that index_ points to
  std::shared_ptr<const Index> index_;
};

}  // namespace causeway::tokenizer
