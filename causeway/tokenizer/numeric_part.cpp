#include "causeway/tokenizer/numeric_part.h"

#include "causeway/core/error.h"
#include "causeway/kernels/binning.h"
#include "causeway/kernels/ranks.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace causeway::tokenizer {

namespace {

template <class Body>
auto with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(double{});
    case DType::i32: return body(std::int32_t{});
    case DType::i64: return body(std::int64_t{});
    default: return body(float{});
  }
}

std::int32_t n_thresholds(const GuideSet& guides) {
  return guides.columns.data_as<GuideColumn>()[0].n_thresholds;
}

// New thresholds in [low, high] of the key space, `n` of them, evenly spread.
template <class V>
void split_evenly(SortKey<V> low, SortKey<V> high, std::int64_t n, std::vector<V>& out) {
  const auto width = static_cast<double>(high - low);
  for (std::int64_t i = 1; i <= n; ++i) {
    const auto step =
        static_cast<SortKey<V>>(width * (static_cast<double>(i) / static_cast<double>(n + 1)));
    V value;
    value_of_key(static_cast<SortKey<V>>(low + step), value);
    out.push_back(value);
  }
}

template <class V>
SortKey<V> lowest_key() {
  if constexpr (std::is_floating_point_v<V>) return sort_key(-std::numeric_limits<V>::infinity());
  return 0;
}
template <class V>
SortKey<V> highest_key() {
  if constexpr (std::is_floating_point_v<V>) return sort_key(std::numeric_limits<V>::infinity());
  return static_cast<SortKey<V>>(~SortKey<V>{0});
}

}  // namespace

NumericPart::NumericPart(const Block& sample, QuantileMethod method, std::vector<double> levels)
    : dtype_(sample.matrix.dtype()), method_(method), levels_(std::move(levels)) {
  Block host = sample;
  host.matrix = sample.matrix.to(Device::cpu());
  host.missing = sample.missing.to(Device::cpu());
  guides_ = sampled_guides(host.matrix, host.missing);
  counts_.assign(static_cast<std::size_t>(guides_.thresholds.size(1)) + 1, 0);
}

NumericPart NumericPart::fresh() const {
  NumericPart part = *this;
  if (starts_.empty()) {
    std::fill(part.counts_.begin(), part.counts_.end(), 0);
  } else {
    part.prepare();
  }
  return part;
}

void NumericPart::count(const Block& batch) {
  if (batch.matrix.numel() == 0) return;
  if (batch.matrix.dtype() != dtype_) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("batches differ in type: {} after {}", to_string(batch.matrix.dtype()),
                     to_string(dtype_)));
  }
  const Device device = batch.matrix.device();
  const StreamView stream = current_stream(device);
  const GuideSet guides = guides_.to(device);
  const Tensor counts = zeros({1, static_cast<std::int64_t>(counts_.size())}, DType::i64, device);
  kernels::count_bins(stream, columns_of(batch.matrix, batch.missing, stream), guides.view(stream),
                      operand(counts, stream));
  const auto found = counts.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < found.size(); ++i) counts_[i] += found[i];
}

std::int64_t NumericPart::n_valid() const {
  return counts_.empty() ? 0 : std::accumulate(counts_.begin(), counts_.end() - 1, std::int64_t{0});
}
std::int64_t NumericPart::n_missing() const { return counts_.empty() ? 0 : counts_.back(); }

std::int64_t NumericPart::plan() {
  const std::int64_t n = n_valid();
  const auto n_bins = static_cast<std::int64_t>(counts_.size()) - 1;
  RankPlan plan(n_bins);
  pairs_.clear();
  for (const double level : levels_) {
    if (n > 0) pairs_.push_back(ranks_of(method_, level, n));
  }
  sources_ = with_type(dtype_, [&](auto tag) {
    using V = decltype(tag);
    return plan_ranks(plan, std::span(counts_).first(counts_.size() - 1),
                      SingleValued<V>{guides_.thresholds.data_as<V>(), n_thresholds(guides_)},
                      pairs_);
  });
  segments_ = plan.segments();
  starts_ = plan.cursors();
  queries_ = plan.queries();
  return plan.n_gathered();
}

void NumericPart::refine() {
  with_type(dtype_, [&](auto tag) {
    using V = decltype(tag);
    const V* old = guides_.thresholds.data_as<V>();
    const std::int32_t n_old = n_thresholds(guides_);
    double wanted = 0;
    std::int64_t n_hit = 0;
    for (std::size_t bin = 0; bin < segments_.size(); ++bin) {
      if (segments_[bin] < 0) continue;
      wanted += static_cast<double>(counts_[bin]);
      ++n_hit;
    }
    // Both ends of every stretch, and as many cuts inside; a GPU keeps this many on chip.
    constexpr std::int64_t kUsual = 4095;
    const std::int64_t room =
        std::min<std::int64_t>(std::max(kUsual, 4 * n_hit), kMostThresholds - 1);
    std::vector<V> finer;
    for (std::int32_t bin = 0; bin <= n_old; ++bin) {
      const auto at = static_cast<std::size_t>(bin);
      if (segments_[at] < 0) continue;
      const auto low = bin == 0 ? lowest_key<V>() : sort_key(old[bin - 1]);
      const auto high = bin == n_old ? highest_key<V>() : sort_key(old[bin]);
      if (bin > 0) finer.push_back(old[bin - 1]);
      // The share of the room that is this stretch's share of the values.
      const double free = static_cast<double>(std::max<std::int64_t>(room - 3 * n_hit, 0));
      const auto n = static_cast<std::int64_t>(free * static_cast<double>(counts_[at]) / wanted);
      split_evenly<V>(low, high, n + 1, finer);
      if (bin < n_old) finer.push_back(old[bin]);
    }
    for (const RankSource& source : sources_) {  // values that are a bin of their own stay one
      if (source.query >= 0) continue;
      finer.push_back(old[source.bin - 1]);
      if (source.bin < n_old) finer.push_back(old[source.bin]);
    }
    std::sort(finer.begin(), finer.end());
    finer.erase(std::unique(finer.begin(), finer.end()), finer.end());
    const std::vector<std::vector<V>> lists{finer};
    guides_ = GuideSet::over<V>(lists, Device::cpu());
    counts_.assign(static_cast<std::size_t>(guides_.thresholds.size(1)) + 1, 0);
  });
  starts_.clear();
}

void NumericPart::prepare() {
  std::int64_t total = 0;
  for (std::size_t bin = 0; bin < segments_.size(); ++bin) {
    if (segments_[bin] >= 0) total += counts_[bin];
  }
  gathered_.assign(static_cast<std::size_t>(total) * value_size(), std::byte{0});
  cursors_ = starts_;
}

Tensor NumericPart::gathered_values() const {
  const auto n = static_cast<std::int64_t>(gathered_.size() / value_size());
  return Tensor::wrap(const_cast<std::byte*>(gathered_.data()), {n}, {1}, dtype_, Device::cpu(),
                      nullptr);
}

void NumericPart::collect(const Block& batch) {
  if (batch.matrix.numel() == 0 || starts_.empty()) return;
  // A batch holds no more than the rest of what is to come: stretches cannot overflow unless the
  // batches differ from those that were counted, so that is looked at before anything is written.
  const Tensor matrix = batch.matrix.to(Device::cpu());
  const Tensor missing = batch.missing.to(Device::cpu());
  const StreamView stream = current_stream(Device::cpu());
  const kernels::Columns columns = columns_of(matrix, missing, stream);
  std::int64_t n_parts = 0;
  kernels::cut_rows(stream, columns, guides_.view(stream), n_parts);
  const auto row = static_cast<std::int64_t>(counts_.size());
  const Tensor counted = Tensor::empty({1, row}, DType::i64);
  const Tensor before = Tensor::empty({n_parts, 1, row}, DType::i32);
  kernels::count_parts(stream, columns, guides_.view(stream), operand(counted, stream),
                       operand(before, stream));
  const Tensor starts = Tensor::empty({1, row}, DType::i32);
  auto* start = reinterpret_cast<std::uint32_t*>(starts.data());
  std::fill_n(start, row, kNowhere);
  std::vector<std::int64_t> moved = cursors_;
  for (std::size_t bin = 0; bin < segments_.size(); ++bin) {
    if (segments_[bin] < 0) continue;
    std::int64_t& cursor = moved[static_cast<std::size_t>(segments_[bin])];
    const std::int64_t end = starts_[static_cast<std::size_t>(segments_[bin])] + counts_[bin];
    start[bin] = static_cast<std::uint32_t>(cursor);
    cursor += counted.data_as<std::int64_t>()[bin];
    if (cursor > end) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           "more values than were counted; collect the same batches that were counted");
    }
  }
  PlannedColumn planned;
  const Tensor head =
      Tensor::wrap(&planned, {sizeof(planned)}, {1}, DType::u8, Device::cpu(), nullptr);
  kernels::gather_bins(stream, columns, guides_.view(stream), operand(starts, stream),
                       operand(before, stream), operand(head, stream),
                       operand(gathered_values(), stream));
  cursors_ = std::move(moved);
}

void NumericPart::merge(const NumericPart& other) {
  if (starts_.empty()) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    return;
  }
  const std::size_t size = value_size();
  for (std::size_t bin = 0; bin < segments_.size(); ++bin) {
    if (segments_[bin] < 0) continue;
    const auto segment = static_cast<std::size_t>(segments_[bin]);
    const std::int64_t begin = starts_[segment];
    const std::int64_t n = other.cursors_[segment] - begin;
    if (cursors_[segment] + n > begin + counts_[bin]) {
      fail(ErrorKind::invalid_argument, "tokenizer.fit",
           "parts hold more values than were counted; merge each part once");
    }
    std::copy_n(other.gathered_.data() + static_cast<std::size_t>(begin) * size,
                static_cast<std::size_t>(n) * size,
                gathered_.data() + static_cast<std::size_t>(cursors_[segment]) * size);
    cursors_[segment] += n;
  }
}

bool NumericPart::complete() const {
  for (std::size_t bin = 0; bin < segments_.size(); ++bin) {
    if (segments_[bin] < 0) continue;
    const auto segment = static_cast<std::size_t>(segments_[bin]);
    if (cursors_[segment] != starts_[segment] + counts_[bin]) return false;
  }
  return true;
}

std::vector<double> NumericPart::quantiles(bool exact) const {
  return with_type(dtype_, [&](auto tag) {
    using V = decltype(tag);
    std::vector<double> values;
    const V* thresholds = guides_.thresholds.data_as<V>();
    const std::int32_t n = n_thresholds(guides_);
    std::vector<V> answers(queries_.size());
    if (exact && !queries_.empty()) {
      const Tensor scratch = gathered_values().clone();  // selecting reorders
      const Tensor found = Tensor::empty({static_cast<std::int64_t>(queries_.size())}, dtype_);
      const Tensor asked = Tensor::from<std::uint8_t>(
          std::span(reinterpret_cast<const std::uint8_t*>(queries_.data()),
                    queries_.size() * sizeof(RankQuery)),
          {static_cast<std::int64_t>(queries_.size() * sizeof(RankQuery))});
      const StreamView stream = current_stream(Device::cpu());
      kernels::select_ranks(stream, operand(scratch, stream), operand(asked, stream),
                            operand(found, stream));
      answers = found.to_vector<V>();
    }
    const auto value = [&](const RankSource& source, std::int64_t rank) -> V {
      if (source.query < 0) return static_cast<V>(thresholds[source.bin - 1] + V(0));
      if (exact) return static_cast<V>(answers[static_cast<std::size_t>(source.query)] + V(0));
      if (n == 0) return V(0);
      // The end of the stretch that is nearer in rank.
      std::int64_t before = 0;
      for (std::int64_t bin = 0; bin < source.bin; ++bin)
        before += counts_[static_cast<std::size_t>(bin)];
      const std::int64_t inside = rank - before;
      const bool upper =
          source.bin == 0 ||
          (source.bin < n && 2 * inside > counts_[static_cast<std::size_t>(source.bin)]);
      return thresholds[upper ? source.bin : source.bin - 1];
    };
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      values.push_back(interpolate(value(sources_[2 * i], pairs_[i].below),
                                   value(sources_[2 * i + 1], pairs_[i].above), pairs_[i].weight));
    }
    for (std::size_t i = 1; !exact && i < values.size(); ++i) {
      values[i] = std::max(values[i], values[i - 1]);
    }
    return values;
  });
}

double NumericPart::rank_error() const {
  const std::int64_t n = n_valid();
  std::int64_t worst = 0;
  for (const RankSource& source : sources_) {
    if (source.query >= 0) worst = std::max(worst, counts_[static_cast<std::size_t>(source.bin)]);
  }
  return n == 0 ? 0 : static_cast<double>(worst) / static_cast<double>(n);
}

std::vector<std::int64_t> NumericPart::bin_counts(const Bins& bins) const {
  return with_type(dtype_, [&](auto tag) {
    using V = decltype(tag);
    const V* thresholds = guides_.thresholds.data_as<V>();
    const std::int32_t n = n_thresholds(guides_);
    const std::int64_t total = n_valid();
    std::vector<std::int64_t> below{0};
    for (const V edge : thresholds_of<V>(bins)) {
      const auto bin =
          static_cast<std::size_t>(std::upper_bound(thresholds, thresholds + n, edge) - thresholds);
      std::int64_t count = std::accumulate(
          counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(bin), std::int64_t{0});
      if (segments_[bin] >= 0) {
        const std::int64_t start = starts_[static_cast<std::size_t>(segments_[bin])];
        const V* first = reinterpret_cast<const V*>(gathered_.data()) + start;
        count += std::count_if(first, first + counts_[bin], [&](V value) { return value < edge; });
      }
      below.push_back(count);
    }
    below.resize(static_cast<std::size_t>(bins.n_bins()), total);
    below.push_back(total);
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i + 1 < below.size(); ++i) counts.push_back(below[i + 1] - below[i]);
    return counts;
  });
}

}  // namespace causeway::tokenizer
