#include "causeway/tokenizer/streaming/numeric_gather.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/kernels/binning.h"
#include "causeway/tokenizer/kernels/ranks.h"
#include "causeway/tensor/operand.h"
#include "causeway/tokenizer/streaming/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace causeway::tokenizer {

namespace {

using kernels::dispatch_column_type;

Tensor as_bytes(const std::vector<RankQuery>& queries) {
  const auto bytes = std::as_bytes(std::span(queries));
  return Tensor::from<std::uint8_t>(
      std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
      {static_cast<std::int64_t>(bytes.size())});
}

}  // namespace

NumericGather::NumericGather(NumericSplit split, std::vector<bool> wanted)
    : split_(std::move(split)), wanted_(std::move(wanted)), gathered_(wanted_.size()) {}

NumericGather::NumericGather(NumericSplit split, std::vector<bool> wanted, const Tensor& values)
    : NumericGather(std::move(split), std::move(wanted)) {
  const std::byte* from = values.data();
  for (std::size_t bin = 0; bin < wanted_.size(); ++bin) {
    if (!wanted_[bin]) continue;
    const std::size_t bytes = static_cast<std::size_t>(split_.counts[bin]) * value_size();
    gathered_[bin].assign(from, from + bytes);
    from += bytes;
  }
}

Tensor NumericGather::values() const {
  std::size_t bytes = 0;
  for (const auto& interval : gathered_) bytes += interval.size();
  Tensor all = Tensor::empty({static_cast<std::int64_t>(bytes / value_size())}, split_.dtype());
  std::byte* to = all.data();
  dispatch_column_type(split_.dtype(), [&](auto tag) {
    using V = decltype(tag);
    for (const auto& interval : gathered_) {
      if (interval.empty()) continue;
      std::memcpy(to, interval.data(), interval.size());
      auto* first = reinterpret_cast<V*>(to);
      std::sort(first, first + interval.size() / sizeof(V));
      to += interval.size();
    }
  });
  return all;
}

NumericGather NumericGather::fresh() const {
  NumericGather part = *this;
  std::fill(part.split_.counts.begin(), part.split_.counts.end(), 0);
  part.gathered_.assign(wanted_.size(), {});
  return part;
}

void NumericGather::collect(const Block& batch) {
  if (batch.matrix.numel() == 0) return;
  if (batch.matrix.dtype() != split_.dtype()) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("batches differ in type: {} after {}", to_string(batch.matrix.dtype()),
                     to_string(split_.dtype())));
  }
  if (std::find(wanted_.begin(), wanted_.end(), true) == wanted_.end()) {
    return split_.add(split_.count(batch));
  }
  const Tensor matrix = batch.matrix.to(Device::cpu());
  const Tensor missing = batch.missing.to(Device::cpu());
  const StreamView stream = current_stream(Device::cpu());
  const kernels::Columns columns = columns_of(matrix, missing, stream);
  const kernels::Guides guides = split_.guides.view(stream);
  std::int64_t n_parts = 0;
  kernels::cut_rows(stream, columns, guides, n_parts);
  const auto row = static_cast<std::int64_t>(split_.counts.size());
  const Tensor counted = Tensor::empty({1, row}, DType::i64);
  const Tensor before = Tensor::empty({n_parts, 1, row}, DType::i32);
  kernels::count_parts(stream, columns, guides, operand(counted, stream), operand(before, stream));
  const auto* counts = counted.data_as<std::int64_t>();
  const Tensor starts = Tensor::empty({1, row}, DType::i32);
  auto* start = reinterpret_cast<std::uint32_t*>(starts.data());
  std::fill_n(start, row, kNotGathered);
  std::int64_t total = 0;
  for (std::size_t bin = 0; bin < wanted_.size(); ++bin) {
    if (!wanted_[bin]) continue;
    start[bin] = static_cast<std::uint32_t>(total);
    total += counts[bin];
  }
  if (total >= std::int64_t{kNotGathered}) {
    fail(ErrorKind::invalid_argument, "tokenizer.fit",
         fmt::format("too many values to collect in a batch of {} rows; use smaller batches",
                     matrix.size(0)));
  }
  const Tensor found = Tensor::empty({total}, split_.dtype());
  PlannedColumn planned;
  const Tensor head =
      Tensor::wrap(&planned, {sizeof(planned)}, {1}, DType::u8, Device::cpu(), nullptr);
  kernels::gather_bins(stream, columns, guides, operand(starts, stream), operand(before, stream),
                       operand(head, stream), operand(found, stream));
  const std::byte* from = found.data();
  for (std::size_t bin = 0; bin < wanted_.size(); ++bin) {
    if (!wanted_[bin]) continue;
    const std::size_t bytes = static_cast<std::size_t>(counts[bin]) * value_size();
    gathered_[bin].insert(gathered_[bin].end(), from, from + bytes);
    from += bytes;
  }
  split_.add({counts, split_.counts.size()});
}

void NumericGather::merge(const NumericGather& other) {
  split_.add(other.split_.counts);
  for (std::size_t bin = 0; bin < wanted_.size(); ++bin) {
    const auto& theirs = other.gathered_[bin];
    gathered_[bin].insert(gathered_[bin].end(), theirs.begin(), theirs.end());
  }
}

std::vector<double> NumericGather::quantiles(QuantileMethod method,
                                             const std::vector<double>& levels) const {
  return dispatch_column_type(split_.dtype(), [&](auto tag) {
    using V = decltype(tag);
    std::vector<double> values;
    const std::int64_t n = split_.n_values();
    if (n == 0) return values;
    const auto thresholds = split_.thresholds<V>();
    std::vector<RankPair> pairs;
    for (const double level : levels) pairs.push_back(ranks_of(method, level, n));
    RankPlan plan(std::ssize(split_.values()));
    const SingleValued<V> single{thresholds.data(), static_cast<std::int32_t>(thresholds.size())};
    const auto sources = plan_ranks(plan, split_.values(), single, pairs);
    const Tensor scratch = Tensor::empty({plan.n_gathered()}, split_.dtype());
    for (std::size_t bin = 0; bin < wanted_.size(); ++bin) {
      const std::int32_t segment = plan.segments()[bin];
      if (segment < 0) continue;
      if (!wanted_[bin]) {
        fail(ErrorKind::invalid_argument, "tokenizer.fit",
             "the collected rows differ from the counted ones; count again");
      }
      std::memcpy(scratch.data_as<V>() + plan.cursors()[static_cast<std::size_t>(segment)],
                  gathered_[bin].data(), gathered_[bin].size());
    }
    std::vector<V> answers;
    if (!plan.queries().empty()) {
      const StreamView stream = current_stream(Device::cpu());
      const Tensor found = Tensor::empty({std::ssize(plan.queries())}, split_.dtype());
      kernels::select_ranks(stream, operand(scratch, stream),
                            operand(as_bytes(plan.queries()), stream), operand(found, stream));
      answers = found.to_vector<V>();
    }
    const auto value = [&](const RankSource& source) {
      const V found = source.query < 0 ? thresholds[static_cast<std::size_t>(source.bin) - 1]
                                       : answers[static_cast<std::size_t>(source.query)];
      return static_cast<V>(found + V(0));
    };
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      values.push_back(
          interpolate(value(sources[2 * i]), value(sources[2 * i + 1]), pairs[i].weight));
    }
    return values;
  });
}

std::vector<std::int64_t> NumericGather::bin_counts(const Bins& bins) const {
  return dispatch_column_type(split_.dtype(), [&](auto tag) {
    using V = decltype(tag);
    const auto thresholds = split_.thresholds<V>();
    const std::int64_t total = split_.n_values();
    std::vector<std::int64_t> before{0};  // values in the intervals below
    for (const std::int64_t count : split_.values()) before.push_back(before.back() + count);
    std::vector<std::int64_t> below{0};
    for (const V edge : thresholds_of<V>(bins)) {
      const auto bin = static_cast<std::size_t>(
          std::upper_bound(thresholds.begin(), thresholds.end(), edge) - thresholds.begin());
      std::int64_t count = before[bin];
      if (wanted_[bin]) {
        const V* first = reinterpret_cast<const V*>(gathered_[bin].data());
        count +=
            std::count_if(first, first + split_.counts[bin], [&](V value) { return value < edge; });
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
