// A range of a prior's datasets, generated batch by batch into host memory: the input of dumps,
// statistics and galleries.
#pragma once

#include "causeway/prior/prior.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::train {

// Of `count` shards, shard `index` has the datasets k with k % count == index.
struct Shard {
  std::int64_t index = 0;
  std::int64_t count = 1;

  // Reads "0/4"; throws invalid_argument.
  static Shard parse(std::string_view text);
  std::string to_string() const;
};

struct HostBatch {
  Tensor x;  // f32 (n, rows, features), padded with 0
  Tensor y;  // f32 (n, rows)
  std::vector<prior::DatasetFacts> facts;
  std::vector<std::uint64_t> hashes;

  // Dataset k at its own size: x (rows, features), y (rows,).
  Tensor x_of(std::int64_t k) const;
  Tensor y_of(std::int64_t k) const;
};

// The shard's part of datasets first ... first + count - 1, in order.
class Sample {
 public:
  Sample(const prior::Prior& prior, std::uint64_t first, std::int64_t count, Shard shard = {});

  std::int64_t size() const { return size_; }
  // The index of the j-th dataset.
  std::uint64_t index(std::int64_t j) const {
    return first_ + static_cast<std::uint64_t>(j * shard_.count);
  }
  // Generates n datasets, starting with the j-th.
  HostBatch generate(std::int64_t j, std::int64_t n) const;
  // A batch size that fills the device and takes at most a few seconds.
  std::int64_t default_batch() const;

 private:
  const prior::Prior& prior_;
  Shard shard_;
  std::uint64_t first_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace causeway::train
