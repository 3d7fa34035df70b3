// The datasets of a prior that a run takes, batch by batch, in host memory: what dumps, statistics
// and galleries are made from.
#pragma once

#include "causeway/prior/prior.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::train {

// Of n runs that share the work, shard i takes the datasets whose number k has k % n == i: together
// they take each once.
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

// Those of datasets first ... first + count - 1 that are the shard's, in order.
class Sample {
 public:
  Sample(const prior::Prior& prior, std::uint64_t first, std::int64_t count, Shard shard = {});

  std::int64_t size() const { return size_; }
  // The number of the j-th.
  std::uint64_t index(std::int64_t j) const {
    return first_ + static_cast<std::uint64_t>(j * shard_.count);
  }
  // The j-th and those after it, n in all.
  HostBatch make(std::int64_t j, std::int64_t n) const;
  // As many as are good to make at once: enough to fill the device, and a few seconds' work.
  std::int64_t good_batch() const;

 private:
  const prior::Prior& prior_;
  Shard shard_;
  std::uint64_t first_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace causeway::train
