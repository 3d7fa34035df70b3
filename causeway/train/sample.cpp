#include "causeway/train/sample.h"

#include "causeway/core/error.h"
#include "causeway/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <functional>
#include <mutex>

namespace causeway::train {

namespace {

// Runs body(k) for k < count on all cores; rethrows the first error.
void for_each(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  std::exception_ptr error;
  std::mutex mutex;
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      try {
        body(k);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace

Shard Shard::parse(std::string_view text) {
  Shard shard;
  const auto number = [](std::string_view part, std::int64_t& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !number(text.substr(0, slash), shard.index) ||
      !number(text.substr(slash + 1), shard.count) || shard.count < 1 || shard.index < 0 ||
      shard.index >= shard.count) {
    fail(ErrorKind::invalid_argument, "prior.generate",
         fmt::format("shard \"{}\": expected i/n with i from 0 to n - 1, such as 0/4", text));
  }
  return shard;
}

std::string Shard::to_string() const { return fmt::format("{}/{}", index, count); }

Tensor HostBatch::x_of(std::int64_t k) const {
  const prior::DatasetFacts& of = facts.at(static_cast<std::size_t>(k));
  return x.select(0, k).slice(0, 0, of.n_rows).slice(1, 0, of.n_features);
}

Tensor HostBatch::y_of(std::int64_t k) const {
  return y.select(0, k).slice(0, 0, facts.at(static_cast<std::size_t>(k)).n_rows);
}

Sample::Sample(const prior::Prior& prior, std::uint64_t first, std::int64_t count, Shard shard)
    : prior_(prior), shard_(shard) {
  const auto n = static_cast<std::uint64_t>(shard.count);
  const auto i = static_cast<std::uint64_t>(shard.index);
  const std::uint64_t skipped = (i + n - first % n) % n;
  first_ = first + skipped;
  const auto left = static_cast<std::uint64_t>(count);
  size_ = skipped >= left ? 0 : static_cast<std::int64_t>((left - skipped + n - 1) / n);
}

HostBatch Sample::generate(std::int64_t j, std::int64_t n) const {
  const auto stride = static_cast<std::uint64_t>(shard_.count);
  const prior::Batch batch =
      prior_.batch(index(j), n, prior::Layout::padded, stride).to(Device::cpu());
  HostBatch made{batch.x, batch.y, batch.facts(), {}};
  made.hashes.resize(static_cast<std::size_t>(n));
  for_each(n, [&](std::int64_t k) {
    made.hashes[static_cast<std::size_t>(k)] = prior::hash_dataset(batch, k);
  });
  return made;
}

std::int64_t Sample::default_batch() const {
  const std::int64_t cells =
      std::int64_t{prior_.config().rows.high} * (prior_.config().features.high + 1);
  const std::int64_t wanted = std::int64_t{prior_.device().is_cpu() ? 2 : 64} << 20;  // cells
  return std::clamp<std::int64_t>(wanted / cells, 1, 8192);
}

}  // namespace causeway::train
