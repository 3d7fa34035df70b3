#include "causeway/tokenizer/artefact/vocabulary.h"

#include <algorithm>
#include <utility>

namespace causeway::tokenizer {

std::uint64_t TextHash::operator()(std::string_view text) const {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
  }
  hash ^= hash >> 32;
  hash *= 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

void CategoryCounts::add(std::string_view value, std::int64_t times) {
  const auto found = counts_.find(value);
  if (found != counts_.end()) {
    found->second += times;
  } else {
    counts_.emplace(value, times);
  }
}

void CategoryCounts::merge(const CategoryCounts& other) {
  for (const auto& [value, count] : other.counts_) add(value, count);
}

Vocabulary::Vocabulary(std::vector<std::string> values, std::vector<std::int64_t> counts,
                       std::int64_t unknown_buckets, std::int64_t n_unknown)
    : values_(std::move(values)),
      counts_(std::move(counts)),
      unknown_buckets_(unknown_buckets),
      n_unknown_(n_unknown) {
  const auto owned = std::make_shared<const std::vector<std::string>>(values_);
  auto index = std::make_shared<Index>();
  index->reserve(owned->size());
  for (std::size_t i = 0; i < owned->size(); ++i) {
    index->emplace((*owned)[i], static_cast<std::int64_t>(i));
  }
  indexed_ = owned;
  index_ = std::move(index);
}

Vocabulary Vocabulary::of(const CategoryCounts& counts, std::int64_t min_count,
                          std::int64_t max_size, std::int64_t unknown_buckets) {
  std::vector<std::pair<std::string_view, std::int64_t>> entries;
  std::int64_t n_unknown = 0;
  for (const auto& [value, count] : counts.entries()) {
    if (count >= min_count) {
      entries.emplace_back(value, count);
    } else {
      n_unknown += count;
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const auto kept = std::min(entries.size(), static_cast<std::size_t>(max_size));
  for (std::size_t i = kept; i < entries.size(); ++i) n_unknown += entries[i].second;
  std::vector<std::string> values;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < kept; ++i) {
    values.emplace_back(entries[i].first);
    numbers.push_back(entries[i].second);
  }
  return {std::move(values), std::move(numbers), unknown_buckets, n_unknown};
}

std::int64_t Vocabulary::find(std::string_view value) const {
  if (index_ != nullptr) {
    const auto found = index_->find(value);
    if (found != index_->end()) return found->second;
  }
  if (unknown_buckets_ == 0) return -1;
  const auto buckets = static_cast<std::uint64_t>(unknown_buckets_);
  return size() + static_cast<std::int64_t>(TextHash()(value) % buckets);
}

}  // namespace causeway::tokenizer
