#include "causeway/tokenizer/fit/order_statistics.h"

#include "causeway/core/error.h"
#include "causeway/tokenizer/kernels/ranks.h"
#include "causeway/tensor/operand.h"
#include "causeway/runtime/transfer.h"
#include "causeway/tensor/dtype_of.h"

#include <algorithm>
#include <bit>

namespace causeway::tokenizer {

namespace {

constexpr std::int64_t kSplitters = 4096;  // one less is used

// Splitters of columns of n_rows values. On a CPU short columns have space for a splitter per value
// and no more, as the time grows with it.
std::int64_t splitters(Device device, std::int64_t n_rows) {
  if (device.is_cuda() || n_rows >= kSplitters) return kSplitters;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n_rows) + 1));
}

// Cells for so many splitters. A GPU keeps the guides of four columns in shared memory.
std::int64_t splitter_cells(Device device, std::int64_t n_splitters) {
  return device.is_cuda() ? n_splitters : 2 * n_splitters;
}

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

GuideSet guides_from(const kernels::Columns& columns, Device device, StreamView stream) {
  const std::int64_t n_columns = columns.n_columns();
  const std::int64_t n_samples = std::min(columns.n_rows(), kernels::kMostSamples);
  const std::int64_t n_splitters = splitters(device, columns.n_rows());
  const GuideSet guides(n_columns, n_splitters, splitter_cells(device, n_splitters),
                        columns.values.dtype, device);
  const Tensor samples = Tensor::empty({n_columns, n_samples}, columns.values.dtype, device);
  const Tensor counts = Tensor::empty({n_columns}, DType::i32, device);
  kernels::sample_columns(stream, columns, operand(samples, stream), operand(counts, stream));
  kernels::split_samples(stream, operand(samples, stream), operand(counts, stream),
                         guides.view(stream));
  kernels::build_guides(stream, guides.view(stream));
  return guides;
}

// Space for gathered values. Intervals that contain a rank are about a quarter longer than average,
// so this suffices unless values repeat; small tables get space for all values.
std::int64_t usual_room(const kernels::Columns& columns,
                        std::span<const std::vector<double>> levels) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 22;
  const std::int64_t all = columns.n_rows() * columns.n_columns();
  if (all <= kSmall) return all;
  double share = 0;
  for (const auto& own : levels) {
    share += std::min(1.0, 0.0625 + 1.5 * static_cast<double>(own.size()) / kSplitters);
  }
  return std::max(kSmall, static_cast<std::int64_t>(share * static_cast<double>(columns.n_rows())));
}

// The search in one matrix. The host uploads the levels and waits for the results; everything in
// between runs on the device.
class QuantileSearch {
 public:
  QuantileSearch(const Tensor& matrix, const Tensor& missing, QuantileMethod method,
                 std::span<const std::vector<double>> levels)
      : device_(matrix.device()),
        stream_(current_stream(device_)),
        columns_(columns_of(matrix, missing, stream_)),
        guides_(guides_from(columns_, device_, stream_)),
        n_columns_(columns_.n_columns()),
        method_(method) {
    wanted_.push_back(0);  // space used by the plan
    for (const auto& own : levels) {
      wanted_.push_back(n_levels_);
      n_levels_ += static_cast<std::int64_t>(own.size());
    }
    wanted_.push_back(n_levels_);
    for (const auto& own : levels) {
      for (const double level : own) wanted_.push_back(std::bit_cast<std::int64_t>(level));
    }
  }

  std::vector<ColumnQuantiles> find(std::int64_t room) {
    std::int64_t needed = search(room);
    if (needed > room) needed = search(needed);
    std::vector<ColumnQuantiles> results(static_cast<std::size_t>(n_columns_));
    const auto* columns = reinterpret_cast<const PlannedColumn*>(found_.data());
    const auto* quantiles = reinterpret_cast<const double*>(columns + n_columns_);
    for (std::int64_t c = 0; c < n_columns_; ++c) {
      ColumnQuantiles& result = results[static_cast<std::size_t>(c)];
      result.n_valid = columns[c].n_valid;
      result.n_missing = columns[c].n_missing;
      const std::int64_t* first = wanted_.data() + 1 + c;
      if (result.n_valid > 0) result.values.assign(quantiles + first[0], quantiles + first[1]);
    }
    return results;
  }

 private:
  // Runs the search with space for `room` gathered values. Returns the space needed: if that is
  // more, the quantiles were not found.
  std::int64_t search(std::int64_t room) {
    const kernels::Guides guides = guides_.view(stream_);
    const auto made = [&](const Shape& shape, DType dtype) {
      return operand(tensors_.emplace_back(Tensor::empty(shape, dtype, device_)), stream_);
    };
    const std::int64_t n_splitters = guides.pitch();
    const std::int64_t row = n_splitters + 1;
    const auto n_wanted = static_cast<std::int64_t>(wanted_.size());
    const Tensor wanted = Tensor::from<std::int64_t>(wanted_, {n_wanted}, device_);
    const Tensor results = Tensor::empty({n_columns_ * kPlanned + n_levels_}, DType::i64, device_);
    const kernels::Levels levels{method_, operand(wanted.slice(0, n_columns_ + 2), stream_),
                                 operand(wanted.slice(0, 1, n_columns_ + 2), stream_)};

    std::int64_t n_parts = 0;
    kernels::cut_rows(stream_, columns_, guides, n_parts);
    const kernels::Operand counts = made({n_columns_, row}, DType::i64);
    const kernels::Operand before = made({n_parts, n_columns_, row}, DType::i32);
    kernels::count_parts(stream_, columns_, guides, counts, before);

    const std::int64_t n_queries = 2 * n_levels_;
    const kernels::PlannedRanks plan{
        operand(results.slice(0, 0, n_columns_ * kPlanned), stream_),
        operand(wanted.slice(0, 0, 1), stream_),
        made({n_columns_, row}, DType::i64),
        made({n_columns_, n_splitters, 2}, DType::i32),
        made({n_columns_, row}, DType::i32),
        made({n_queries * static_cast<std::int64_t>(sizeof(RankQuery))}, DType::u8),
        made({n_queries}, columns_.values.dtype)};
    kernels::plan_ranks(stream_, levels, guides, counts, room, plan);
    if (n_levels_ > 0) {
      const kernels::Operand gathered = made({room}, columns_.values.dtype);
      kernels::gather_bins(stream_, columns_, guides, plan.starts, before, plan.columns, gathered);
      kernels::select_ranks(stream_, gathered, plan.queries, plan.answers);
      kernels::blend_ranks(stream_, levels, plan,
                           operand(results.slice(0, n_columns_ * kPlanned), stream_));
    }
    found_ = results.to_vector<std::int64_t>();
    tensors_.clear();
    std::int64_t needed = 0;
    for (std::int64_t c = 0; c < n_columns_; ++c) {
      const auto& column = reinterpret_cast<const PlannedColumn*>(found_.data())[c];
      if (column.n_gathered >= std::int64_t{kNotGathered}) {
        fail(ErrorKind::invalid_argument, "tokenizer.fit",
             "more than 2^32 values of a column would have to be gathered; fit it in batches");
      }
      needed += column.n_gathered;
    }
    return needed;
  }

  static constexpr std::int64_t kPlanned = sizeof(PlannedColumn) / sizeof(std::int64_t);

  Device device_;
  StreamView stream_;
  kernels::Columns columns_;
  GuideSet guides_;
  std::int64_t n_columns_;
  std::int64_t n_levels_ = 0;
  QuantileMethod method_;
  std::vector<std::int64_t> wanted_;  // 0, first level per column and the end, bits of levels
  std::vector<Tensor> tensors_;       // inputs and outputs of the kernels
  std::vector<std::int64_t> found_;   // the PlannedColumns, bits of the quantiles
};

}  // namespace

GuideSet::GuideSet(std::int64_t n_columns, std::int64_t pitch, std::int64_t n_cells, DType dtype,
                   Device device)
    : columns(bytes_tensor(static_cast<std::size_t>(n_columns) * sizeof(GuideColumn), device)),
      thresholds(Tensor::empty({n_columns, pitch}, dtype, device)),
      cells(Tensor::empty({n_columns, n_cells}, DType::i32, device)) {}

template <class V>
GuideSet GuideSet::over(std::span<const std::vector<V>> lists, Device device) {
  std::size_t longest = 1;  // plus one unused entry
  for (const auto& list : lists) longest = std::max(longest, list.size() + 1);
  const auto n_columns = static_cast<std::int64_t>(lists.size());
  const auto pitch = static_cast<std::int64_t>(longest);
  std::int64_t n_cells = 64;  // four cells per threshold, limited by shared memory
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
                                            std::span<const std::vector<double>> levels,
                                            std::optional<std::int64_t> room) {
  if (matrix.numel() == 0) {
    return std::vector<ColumnQuantiles>(static_cast<std::size_t>(matrix.size(1)));
  }
  const kernels::Columns columns = columns_of(matrix, missing, current_stream(matrix.device()));
  return QuantileSearch(matrix, missing, method, levels)
      .find(room.value_or(usual_room(columns, levels)));
}

}  // namespace causeway::tokenizer
