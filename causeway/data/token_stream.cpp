#include "causeway/data/token_stream.h"

#include "causeway/core/error.h"
#include "causeway/data/permutation.h"
#include "causeway/random/philox.h"

#include <fmt/format.h>

#include <future>
#include <limits>
#include <optional>

namespace causeway::data {

namespace {

constexpr std::int64_t kMostSamples = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const std::string& message) {
  fail(ErrorKind::invalid_argument, "token_stream", message);
}

void check(const TokenData& data, const TokenStreamOptions& options) {
  if (options.length < 1) refuse(fmt::format("length {}, expected 1 or more", options.length));
  if (options.n_ranks < 1 || options.rank < 0 || options.rank >= options.n_ranks) {
    refuse(fmt::format("rank {} of {} ranks", options.rank, options.n_ranks));
  }
  if (options.batch < 1 || options.batch % options.n_ranks != 0) {
    refuse(fmt::format("batch {} cannot be divided among {} ranks; use a multiple", options.batch,
                       options.n_ranks));
  }
  if (data.size() <= options.length) {
    refuse(
        fmt::format("the data has {} tokens; windows of {} tokens and one target need {} or more",
                    data.size(), options.length, options.length + 1));
  }
}

}  // namespace

class TokenStream::State {
 public:
  State(TokenData data, const TokenStreamOptions& options)
      : data_(std::move(data)), options_(options) {
    check(data_, options_);
  }

  std::int64_t windows() const { return (data_.size() - 1) / options_.length; }
  const TokenStreamOptions& options() const { return options_; }

  TokenBatch batch(std::int64_t step) {
    const std::int64_t most = kMostSamples / options_.batch - 1;
    if (step < 0 || step >= most) refuse(fmt::format("step {}, expected 0 or more", step));
    const bool is_ready = next_.valid() && next_step_ == step;
    TokenBatch result = is_ready ? next_.get() : make(step);
    next_step_ = step + 1;
    next_ = std::async(std::launch::async, [this, step] { return make(step + 1); });
    return result;
  }

 private:
  TokenBatch make(std::int64_t step) const {
    const std::int64_t rows = options_.batch / options_.n_ranks;
    const std::int64_t first = step * options_.batch + options_.rank * rows;
    const auto length = static_cast<std::size_t>(options_.length);
    TokenBatch result{Tensor::empty({rows, options_.length}, DType::i64),
                      Tensor::empty({rows, options_.length}, DType::i64)};
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t begin = window_start(first + row);
      const std::int64_t offset = row * options_.length;
      data_.read(begin, {result.tokens.data_as<std::int64_t>() + offset, length});
      data_.read_targets(begin + 1, {result.targets.data_as<std::int64_t>() + offset, length});
    }
    return result;
  }

  // The first token of the window that is sample number `sample` of the stream.
  std::int64_t window_start(std::int64_t sample) const {
    const std::int64_t position = sample % windows();
    if (!options_.shuffle) return position * options_.length;
    const auto epoch = static_cast<std::uint64_t>(sample / windows());
    const std::int64_t unused = (data_.size() - 1) % options_.length;
    const std::int64_t window = static_cast<std::int64_t>(
        permuted(static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(windows()),
                 options_.seed, epoch));
    return window * options_.length + shift(epoch, unused);
  }

  // Where the first window of an epoch starts: other tokens are left out in other epochs.
  std::int64_t shift(std::uint64_t epoch, std::int64_t unused) const {
    constexpr std::uint64_t kIndex = ~std::uint64_t{0};  // not used by permuted
    const Bits128 bits = philox(options_.seed, epoch, kIndex);
    const std::uint64_t wide = std::uint64_t{bits.word[1]} << 32 | bits.word[0];
    return static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(unused + 1));
  }

  TokenData data_;
  TokenStreamOptions options_;
  std::int64_t next_step_ = -1;
  std::future<TokenBatch> next_;  // its destructor waits; last, since it reads the others
};

TokenStream::TokenStream(TokenData data, const TokenStreamOptions& options)
    : state_(std::make_unique<State>(std::move(data), options)) {}
TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;

TokenBatch TokenStream::batch(std::int64_t step) { return state_->batch(step); }
std::int64_t TokenStream::windows_per_epoch() const { return state_->windows(); }
std::int64_t TokenStream::steps_per_epoch() const {
  return (state_->windows() + options().batch - 1) / options().batch;
}
const TokenStreamOptions& TokenStream::options() const { return state_->options(); }

}  // namespace causeway::data
