#include "causeway/prior/prior.h"

#include "causeway/core/error.h"
#include "causeway/prior/generate.h"
#include "causeway/prior/recipe.h"
#include "causeway/runtime/stream.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/elementwise.h"
#include "causeway/tensor/indexing.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <mutex>

namespace causeway::prior {

namespace {

constexpr std::int64_t kInfoWords = sizeof(DatasetInfo) / 4;
static_assert(kInfoWords == 15 && sizeof(DatasetInfo) % 4 == 0);

// The shape of a dataset, without generating it.
DatasetShape shape_at(const Recipe& recipe, std::uint64_t seed, std::uint64_t index) {
  return shape_of(recipe, Draws::of(seed, index));
}

}  // namespace

struct Batch::Known {
  std::mutex mutex;
  std::vector<DatasetFacts> facts;
  std::shared_ptr<const Recipe> recipe;
  std::uint64_t seed = 0;
};

const std::vector<std::string>& rejection_reasons() {
  static const std::vector<std::string> reasons = {
      "not finite", "too wide", "no features", "classes of the split", "unpredictable", "trivial"};
  return reasons;
}

Prior::Prior(const PriorConfig& config, Device device) : config_(config), device_(device) {
  config_.check();
  if (config_.family != "graph" && config_.family != "mix") config_.filter_predictable = false;
  recipe_ = std::make_shared<const Recipe>(recipe_of(config_));
}

Batch Prior::batch(std::uint64_t first, std::int64_t count, Layout layout,
                   std::uint64_t stride) const {
  if (count < 0) {
    fail(ErrorKind::invalid_argument, "prior.batch",
         fmt::format("count must not be negative, got {}", count));
  }
  const std::int64_t rows = config_.rows.high;
  const std::int64_t features = config_.features.high;
  Batch batch;
  batch.first = first;
  batch.stride = stride;
  batch.count = count;
  batch.layout = layout;
  BatchOut out;
  Tensor offsets;
  if (layout == Layout::packed) {
    std::vector<std::int64_t> numbers;
    Batch::Offsets at{};
    for (std::int64_t k = 0; k < count; ++k) {
      const DatasetShape shape =
          shape_at(*recipe_, config_.seed, first + static_cast<std::uint64_t>(k) * stride);
      at.row_stride = shape.n_features;
      batch.offsets.push_back(at);
      numbers.insert(numbers.end(), {at.x, at.y, at.row_stride});
      at.x += std::int64_t{shape.n_rows} * shape.n_features;
      at.y += shape.n_rows;
    }
    offsets = Tensor::from<std::int64_t>(numbers, {count, 3}, device_);
    batch.x = Tensor::empty({at.x}, DType::f32, device_);
    batch.y = Tensor::empty({at.y}, DType::f32, device_);
    out.offsets = offsets.data_as<std::int64_t>();
  } else {
    batch.x = Tensor::empty({count, rows, features}, DType::f32, device_);
    batch.y = Tensor::empty({count, rows}, DType::f32, device_);
  }
  const bool plain = layout == Layout::padded && is_plain_simple(*recipe_);
  batch.info = Tensor::empty({plain ? 0 : count, kInfoWords}, DType::i32, device_);
  out.x = batch.x.data_as<float>();
  out.y = batch.y.data_as<float>();
  out.info = reinterpret_cast<DatasetInfo*>(batch.info.data());
  out.first = first;
  out.stride = stride;
  out.count = count;
  out.rows = static_cast<int>(rows);
  out.features = static_cast<int>(features);
  if (device_.is_cpu() && plain) {
    cpu::generate_simple(config_.seed, out);
  } else if (device_.is_cpu()) {
    cpu::generate(*recipe_, config_.seed, out);
  } else if (plain) {
    cuda::generate_simple(current_stream(device_), config_.seed, out);
  } else {
    cuda::generate(current_stream(device_), *recipe_, config_.seed, out);
  }
  batch.known_ = std::make_shared<Batch::Known>();
  batch.known_->recipe = recipe_;
  batch.known_->seed = config_.seed;
  return batch;
}

RequestedSizes Prior::requested_sizes(std::uint64_t index) const {
  const DatasetShape shape = shape_at(*recipe_, config_.seed, index);
  return {shape.n_rows, shape.n_features, shape.n_classes, shape.n_train};
}

std::size_t Prior::scratch_bytes(std::int64_t count) const {
  return device_.is_cpu() ? cpu::scratch_bytes(*recipe_, count)
                          : cuda::scratch_bytes(current_stream(device_), *recipe_, count);
}

Tensor Prior::fill(std::span<const std::uint64_t> indices, std::span<const Batch::Offsets> offsets,
                   const Tensor& x, const Tensor& y) const {
  const auto count = static_cast<std::int64_t>(indices.size());
  std::vector<std::int64_t> numbers;  // offsets, then indices
  for (const Batch::Offsets& at : offsets) {
    numbers.insert(numbers.end(), {at.x, at.y, at.row_stride});
  }
  for (const std::uint64_t index : indices) numbers.push_back(static_cast<std::int64_t>(index));
  const Tensor given = Tensor::from<std::int64_t>(numbers, {4 * count}, device_);
  const Tensor info = Tensor::empty({count, kInfoWords}, DType::i32, device_);
  BatchOut out;
  out.x = x.data_as<float>();
  out.y = y.data_as<float>();
  out.info = reinterpret_cast<DatasetInfo*>(info.data());
  out.count = count;
  out.rows = config_.rows.high;
  out.features = config_.features.high;
  out.offsets = given.data_as<std::int64_t>();
  out.indices = reinterpret_cast<const std::uint64_t*>(out.offsets + 3 * count);
  if (device_.is_cpu()) {
    cpu::generate(*recipe_, config_.seed, out);
  } else {
    cuda::generate(current_stream(device_), *recipe_, config_.seed, out);
  }
  const auto column = [&](std::size_t offset) {
    const auto at = static_cast<std::int64_t>(offset / sizeof(std::int32_t));
    return info.slice(1, at, at + 1).to(DType::i64);
  };
  const Tensor n_rows = column(offsetof(DatasetInfo, n_rows));
  const Tensor passed = compare(CompareOp::equal, column(offsetof(DatasetInfo, verdict)),
                                Scalar(static_cast<std::int64_t>(Verdict::accepted)));
  const std::vector<Tensor> sizes = {n_rows, column(offsetof(DatasetInfo, n_features)),
                                     where(passed, column(offsetof(DatasetInfo, n_train)), n_rows)};
  return concatenate(sizes, 1);
}

const std::vector<DatasetFacts>& Batch::facts() const {
  const std::lock_guard lock(known_->mutex);
  if (!known_->facts.empty() || count == 0) return known_->facts;
  const std::vector<std::int32_t> words = info.to(Device::cpu()).to_vector<std::int32_t>();
  std::vector<DatasetFacts> all;
  for (std::int64_t k = 0; k < count; ++k) {
    DatasetInfo of{};
    if (words.empty()) {  // the simple family without filters writes no info
      const DatasetShape shape =
          shape_at(*known_->recipe, known_->seed, first + static_cast<std::uint64_t>(k) * stride);
      of.n_rows = shape.n_rows;
      of.n_features = shape.n_features;
      of.n_train = shape.n_train;
      of.family = static_cast<std::int32_t>(shape.family);
    } else {
      std::memcpy(&of, words.data() + k * kInfoWords, sizeof(of));
    }
    DatasetFacts facts;
    facts.index = first + static_cast<std::uint64_t>(k) * stride;
    facts.family = family_names()[static_cast<std::size_t>(of.family)];
    facts.n_rows = of.n_rows;
    facts.n_features = of.n_features;
    facts.n_classes = of.n_classes;
    facts.n_train = of.n_train;
    facts.n_attempts = of.attempts + 1;
    facts.bayes_error = static_cast<double>(of.bayes_error);
    facts.rejected.assign(of.rejected + 1, of.rejected + static_cast<int>(Verdict::n_verdicts));
    if (of.verdict != static_cast<std::int32_t>(Verdict::accepted)) {
      fail(ErrorKind::invalid_argument, "prior",
           fmt::format(
               "dataset {} of seed {}: all {} attempts were rejected by the filters, the last "
               "as \"{}\"; use more rows, fewer classes, or fewer filters",
               facts.index, known_->seed, facts.n_attempts,
               rejection_reasons()[static_cast<std::size_t>(of.verdict - 1)]));
    }
    all.push_back(std::move(facts));
  }
  known_->facts = std::move(all);
  return known_->facts;
}

Tensor Batch::x_of(std::int64_t k) const {
  const DatasetFacts& of = facts().at(static_cast<std::size_t>(k));
  if (layout == Layout::padded) {
    return x.select(0, k).slice(0, 0, of.n_rows).slice(1, 0, of.n_features);
  }
  const Offsets& at = offsets.at(static_cast<std::size_t>(k));
  return x.slice(0, at.x, at.x + of.n_rows * at.row_stride)
      .reshape({of.n_rows, at.row_stride})
      .slice(1, 0, of.n_features);
}

Tensor Batch::y_of(std::int64_t k) const {
  const DatasetFacts& of = facts().at(static_cast<std::size_t>(k));
  if (layout == Layout::padded) return y.select(0, k).slice(0, 0, of.n_rows);
  const Offsets& at = offsets.at(static_cast<std::size_t>(k));
  return y.slice(0, at.y, at.y + of.n_rows);
}

Batch Batch::to(Device device) const {
  Batch moved = *this;
  moved.x = x.to(device);
  moved.y = y.to(device);
  moved.info = info.to(device);
  return moved;
}

namespace {

// Mixes 32 bits into a hash.
std::uint64_t mix_in(std::uint64_t hash, std::uint32_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 32);
}

std::uint64_t mix_all(std::uint64_t hash, const Tensor& values) {
  for (float value : values.to(Device::cpu()).contiguous().to_vector<float>()) {
    hash = mix_in(hash, elementary::bits_of(value));
  }
  return hash;
}

}  // namespace

std::uint64_t hash_dataset(const Batch& batch, std::int64_t k) {
  const DatasetFacts& facts = batch.facts().at(static_cast<std::size_t>(k));
  std::uint64_t hash = 0x63617573657761ull;
  for (int size : {facts.n_rows, facts.n_features, facts.n_classes, facts.n_train}) {
    hash = mix_in(hash, static_cast<std::uint32_t>(size));
  }
  return mix_all(mix_all(hash, batch.x_of(k)), batch.y_of(k));
}

std::uint64_t hash_all(std::span<const std::uint64_t> hashes) {
  std::uint64_t hash = 0x63617573657761ull;
  for (std::uint64_t one : hashes) {
    hash = mix_in(mix_in(hash, static_cast<std::uint32_t>(one)),
                  static_cast<std::uint32_t>(one >> 32));
  }
  return hash;
}

}  // namespace causeway::prior
