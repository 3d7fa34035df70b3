#include "causeway/tokenizer/streaming/numeric_split.h"

#include "causeway/tokenizer/kernels/binning.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"
#include "causeway/tokenizer/streaming/rank_plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace causeway::tokenizer {

template <class V>
NumericSplit NumericSplit::over(std::vector<V> thresholds) {
  NumericSplit split;
  split.counts.assign(thresholds.size() + 2, 0);
  const std::vector<std::vector<V>> lists{std::move(thresholds)};
  split.guides = GuideSet::over<V>(lists, Device::cpu());
  return split;
}

template NumericSplit NumericSplit::over<float>(std::vector<float>);
template NumericSplit NumericSplit::over<double>(std::vector<double>);
template NumericSplit NumericSplit::over<std::int32_t>(std::vector<std::int32_t>);
template NumericSplit NumericSplit::over<std::int64_t>(std::vector<std::int64_t>);

NumericSplit::NumericSplit(const Block& sample) {
  const Tensor matrix = sample.matrix.to(Device::cpu());
  const Tensor missing = sample.missing.to(Device::cpu());
  *this = kernels::dispatch_column_type(matrix.dtype(), [&](auto tag) {
    using V = decltype(tag);
    if (matrix.numel() == 0) return over<V>({});
    const GuideSet sampled = sampled_guides(matrix, missing);
    const V* first = sampled.thresholds.data_as<V>();
    return over<V>({first, first + sampled.columns.data_as<GuideColumn>()[0].n_thresholds});
  });
}

std::int64_t NumericSplit::n_values() const {
  return std::accumulate(counts.begin(), counts.end() - 1, std::int64_t{0});
}

std::vector<std::int64_t> NumericSplit::count(const Block& batch) const {
  const Device device = batch.matrix.device();
  const StreamView stream = current_stream(device);
  const GuideSet there = guides.to(device);
  const Tensor found = zeros({1, static_cast<std::int64_t>(counts.size())}, DType::i64, device);
  kernels::count_bins(stream, columns_of(batch.matrix, batch.missing, stream), there.view(stream),
                      operand(found, stream));
  return found.to_vector<std::int64_t>();
}

void NumericSplit::add(std::span<const std::int64_t> more) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more[i];
}

bool NumericSplit::is_coarse_for(std::span<const std::int64_t> counted) const {
  constexpr std::int64_t kFew = 4096;  // one value per interval
  const std::int64_t n = std::accumulate(counted.begin(), counted.end() - 1, std::int64_t{0});
  if (n == 0) return false;
  return kernels::dispatch_column_type(dtype(), [&](auto tag) {
    const auto own = thresholds<decltype(tag)>();
    for (std::size_t bin = 0; bin + 1 < counted.size(); ++bin) {
      const bool one = holds_one_value(own.data(), static_cast<std::int32_t>(own.size()),
                                       static_cast<std::int32_t>(bin));
      if (!one && counted[bin] > std::max(n / 64, kFew / 64)) return true;
    }
    return own.empty();
  });
}

bool NumericSplit::same_thresholds(const NumericSplit& other) const {
  return dtype() == other.dtype() && counts.size() == other.counts.size() &&
         std::memcmp(guides.thresholds.data(), other.guides.thresholds.data(),
                     (counts.size() - 2) * size_of(dtype())) == 0;
}

}  // namespace causeway::tokenizer
