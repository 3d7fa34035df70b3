// Batches of token windows for language models. The data is cut into windows of `length` tokens; a
// window's targets are its tokens shifted by one. An epoch visits every window once, in an order
// drawn from (seed, epoch). Step k is a function of data, seed, batch and length alone: the stream
// has no state to save, and the order does not depend on the number of ranks. A thread prepares the
// batch after the last one asked for.
#pragma once

#include "causeway/data/token_data.h"
#include "causeway/tensor/tensor.h"

#include <cstdint>
#include <memory>

namespace causeway::data {

struct TokenStreamOptions {
  std::int64_t batch = 8;      // windows per step, over all ranks; divisible by n_ranks
  std::int64_t length = 1024;  // tokens per window
  std::uint64_t seed = 0;
  bool shuffle = true;  // off: windows in the order of the data, such as for validation
  int rank = 0;
  int n_ranks = 1;
};

// i64 in host memory, of shape (batch / n_ranks, length). Targets are kIgnoredTarget where a loss
// mask excludes the token. Tensor::to(device) stages the copy in pinned memory and does not wait
// for it.
struct TokenBatch {
  Tensor tokens;
  Tensor targets;
};

class TokenStream {
 public:
  // Throws invalid_argument for options out of range and for data shorter than length + 1 tokens.
  TokenStream(TokenData data, const TokenStreamOptions& options);
  ~TokenStream();
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;

  // The rank's part of step `step`, counted from 0: rows [rank, rank + 1) * batch / n_ranks of the
  // global batch. Steps may be in any order; consecutive ones are prefetched. Not to be called from
  // several threads at once.
  TokenBatch batch(std::int64_t step);

  // Windows per epoch. (size - 1) % length tokens are in no window of an epoch; they are at the
  // ends of the data and, with shuffle, differ between epochs.
  std::int64_t windows_per_epoch() const;
  // Steps after which every window was visited once, rounded up.
  std::int64_t steps_per_epoch() const;
  const TokenStreamOptions& options() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace causeway::data
