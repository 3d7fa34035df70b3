#include "causeway/tokenizer/order_statistics.h"

#include "causeway/core/error.h"
#include "causeway/tensor/create.h"
#include "causeway/tensor/operand.h"
#include "causeway/tokenizer/rank_plan.h"

#include <algorithm>
#include <cstring>

namespace causeway::tokenizer {

namespace {

constexpr std::int64_t kSplitters = 4096;  // one less, and a place unused
// A GPU keeps the guides of four columns side by side on chip.
constexpr std::int64_t splitter_cells(Device device) { return device.is_cuda() ? 4096 : 8192; }

Tensor bytes_tensor(std::size_t bytes, Device device) {
  return Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::u8, device);
}

template <class Entry>
Tensor upload(const std::vector<Entry>& entries, Device device) {
  Tensor tensor = bytes_tensor(entries.size() * sizeof(Entry), device);
  transfer(tensor.data(), device, entries.data(), Device::cpu(), entries.size() * sizeof(Entry),
           current_stream(device));
  return tensor;
}

template <class Body>
void dispatch_binned(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f64: return body(double{});
    case DType::f32: return body(float{});
    case DType::i32: return body(std::int32_t{});
    case DType::i64: return body(std::int64_t{});
    default: fail(ErrorKind::internal, "tokenizer", "a matrix of this type is not binned");
  }
}

GuideSet guides_from(const kernels::Columns& columns, Device device, StreamView stream) {
  const std::int64_t n_columns = columns.n_columns();
  const std::int64_t n_samples = std::min(columns.n_rows(), kernels::kMostSamples);
  const GuideSet guides(n_columns, kSplitters, splitter_cells(device), columns.values.dtype,
                        device);
  const Tensor samples = Tensor::empty({n_columns, n_samples}, columns.values.dtype, device);
  const Tensor counts = Tensor::empty({n_columns}, DType::i32, device);
  kernels::sample_columns(stream, columns, operand(samples, stream), operand(counts, stream));
  kernels::split_samples(stream, operand(samples, stream), operand(counts, stream),
                         guides.view(stream));
  kernels::build_guides(stream, guides.view(stream));
  return guides;
}

// The search in one matrix, step by step.
template <class V>
class QuantileSearch {
 public:
  QuantileSearch(const Tensor& matrix, const Tensor& missing)
      : device_(matrix.device()),
        stream_(current_stream(device_)),
        columns_(columns_of(matrix, missing, stream_)),
        guides_(guides_from(columns_, device_, stream_)),
        results_(static_cast<std::size_t>(columns_.n_columns())),
        wanted_(results_.size()) {}

  std::vector<ColumnQuantiles> find(QuantileMethod method,
                                    std::span<const std::vector<double>> levels) {
    plan(method, levels);
    gather();
    for (std::size_t c = 0; c < results_.size(); ++c) answer(c);
    return std::move(results_);
  }

 private:
  // What is remembered of a column until the values are there.
  struct Wanted {
    std::vector<RankPair> pairs;      // one a level
    std::vector<RankSource> sources;  // of each pair's two ranks
  };

  void plan(QuantileMethod method, std::span<const std::vector<double>> levels) {
    const Tensor counts = zeros({columns_.n_columns(), kSplitters + 1}, DType::i64, device_);
    kernels::count_bins(stream_, columns_, guides_.view(stream_), operand(counts, stream_));
    const auto counted = counts.to_vector<std::int64_t>();
    thresholds_ = guides_.thresholds.to_vector<V>();
    const Tensor heads = guides_.columns.to(Device::cpu());
    for (std::size_t c = 0; c < results_.size(); ++c) {
      const std::span row(counted.data() + c * (kSplitters + 1), kSplitters);
      for (const std::int64_t count : row) results_[c].n_valid += count;
      results_[c].n_missing = counted[c * (kSplitters + 1) + kSplitters];
      for (const double level : levels[c]) {
        if (results_[c].n_valid == 0) break;
        wanted_[c].pairs.push_back(ranks_of(method, level, results_[c].n_valid));
      }
      const SingleValued<V> single{thresholds_.data() + c * kSplitters,
                                   heads.data_as<GuideColumn>()[c].n_thresholds};
      wanted_[c].sources = plan_ranks(plan_, row, single, wanted_[c].pairs);
    }
  }

  void gather() {
    if (plan_.n_gathered() == 0) return;
    const Tensor segments =
        Tensor::from<std::int32_t>(plan_.segments(), {columns_.n_columns(), kSplitters}, device_);
    const auto n_segments = static_cast<std::int64_t>(plan_.cursors().size());
    const Tensor cursors = Tensor::from<std::int64_t>(plan_.cursors(), {n_segments}, device_);
    const Tensor gathered = Tensor::empty({plan_.n_gathered()}, columns_.values.dtype, device_);
    kernels::gather_bins(stream_, columns_, guides_.view(stream_), operand(segments, stream_),
                         operand(cursors, stream_), operand(gathered, stream_));
    const Tensor queries = upload(plan_.queries(), device_);
    const auto n_queries = static_cast<std::int64_t>(plan_.queries().size());
    const Tensor found = Tensor::empty({n_queries}, columns_.values.dtype, device_);
    kernels::select_ranks(stream_, operand(gathered, stream_), operand(queries, stream_),
                          operand(found, stream_));
    answers_ = found.to_vector<V>();
  }

  void answer(std::size_t c) {
    const V* own = thresholds_.data() + c * kSplitters;
    const auto value = [&](const RankSource& source) {
      const V found = source.query >= 0 ? answers_[static_cast<std::size_t>(source.query)]
                                        : own[source.bin - 1];
      return static_cast<V>(found + V(0));  // -0 to 0
    };
    const Wanted& wanted = wanted_[c];
    for (std::size_t i = 0; i < wanted.pairs.size(); ++i) {
      results_[c].values.push_back(interpolate(
          value(wanted.sources[2 * i]), value(wanted.sources[2 * i + 1]), wanted.pairs[i].weight));
    }
  }

  Device device_;
  StreamView stream_;
  kernels::Columns columns_;
  GuideSet guides_;
  std::vector<ColumnQuantiles> results_;
  std::vector<Wanted> wanted_;
  std::vector<V> thresholds_;
  RankPlan plan_{kSplitters};
  std::vector<V> answers_;
};

}  // namespace

GuideSet::GuideSet(std::int64_t n_columns, std::int64_t pitch, std::int64_t n_cells, DType dtype,
                   Device device)
    : columns(bytes_tensor(static_cast<std::size_t>(n_columns) * sizeof(GuideColumn), device)),
      thresholds(Tensor::empty({n_columns, pitch}, dtype, device)),
      cells(Tensor::empty({n_columns, n_cells}, DType::i32, device)) {}

template <class V>
GuideSet GuideSet::over(std::span<const std::vector<V>> lists, Device device) {
  std::size_t longest = 1;  // and a place unused
  for (const auto& list : lists) longest = std::max(longest, list.size() + 1);
  const auto n_columns = static_cast<std::int64_t>(lists.size());
  const auto pitch = static_cast<std::int64_t>(longest);
  std::int64_t n_cells = 64;  // four cells a threshold, within what a GPU keeps on chip
  while (n_cells < 4 * pitch && n_cells < 16384) n_cells *= 2;
  GuideSet made(n_columns, pitch, n_cells, dtype_of<V>(), device);
  std::vector<GuideColumn> heads(lists.size());
  std::vector<V> flat(lists.size() * longest);
  for (std::size_t c = 0; c < lists.size(); ++c) {
    heads[c].n_thresholds = static_cast<std::int32_t>(lists[c].size());
    std::copy(lists[c].begin(), lists[c].end(),
              flat.begin() + static_cast<std::ptrdiff_t>(c * longest));
  }
  made.columns = upload(heads, device);
  made.thresholds = Tensor::from<V>(flat, {n_columns, pitch}, device);
  const StreamView stream = current_stream(device);
  kernels::build_guides(stream, made.view(stream));
  return made;
}

template GuideSet GuideSet::over<float>(std::span<const std::vector<float>>, Device);
template GuideSet GuideSet::over<double>(std::span<const std::vector<double>>, Device);
template GuideSet GuideSet::over<std::int32_t>(std::span<const std::vector<std::int32_t>>, Device);
template GuideSet GuideSet::over<std::int64_t>(std::span<const std::vector<std::int64_t>>, Device);

GuideSet GuideSet::to(Device device) const {
  GuideSet moved;
  moved.columns = columns.to(device);
  moved.thresholds = thresholds.to(device);
  moved.cells = cells.to(device);
  return moved;
}

GuideSet sampled_guides(const Tensor& matrix, const Tensor& missing) {
  const StreamView stream = current_stream(matrix.device());
  return guides_from(columns_of(matrix, missing, stream), matrix.device(), stream);
}

kernels::Guides GuideSet::view(StreamView stream) const {
  return {operand(columns, stream), operand(thresholds, stream), operand(cells, stream)};
}

DType binned_dtype(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::i64:
    case DType::i32: return dtype;
    default: return is_floating(dtype) ? DType::f32 : DType::i32;
  }
}

kernels::Columns columns_of(const Tensor& matrix, const Tensor& missing, StreamView stream) {
  kernels::Columns columns{operand(matrix, stream), {}};
  if (missing.numel() > 0) columns.missing = operand(missing, stream);
  return columns;
}

std::vector<ColumnQuantiles> find_quantiles(const Tensor& matrix, const Tensor& missing,
                                            QuantileMethod method,
                                            std::span<const std::vector<double>> levels) {
  std::vector<ColumnQuantiles> results(static_cast<std::size_t>(matrix.size(1)));
  if (matrix.numel() == 0) return results;
  dispatch_binned(matrix.dtype(), [&](auto tag) {
    results = QuantileSearch<decltype(tag)>(matrix, missing).find(method, levels);
  });
  return results;
}

}  // namespace causeway::tokenizer
