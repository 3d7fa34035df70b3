// Guide construction on the CPU: a sample of every column is sorted and split evenly, and the
// look-up table of the splitters is built.
#include "causeway/tokenizer/kernels/guide.h"

#include "causeway/tokenizer/kernels/column_tiles_cpu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace causeway::kernels::cpu {

namespace {

template <class V>
void sample_column(const Columns& columns, std::int64_t column, std::int64_t n_samples, V* samples,
                   std::int32_t& count) {
  const internal::Strided<V> values(columns.values);
  const internal::Strided<bool> missing(columns.missing);
  V* end = samples;
  for (std::int64_t i = 0; i < n_samples; ++i) {
    const std::int64_t row = sample_row(i, n_samples, columns.n_rows());
    const V value = values.data[row * values.row + column * values.column];
    const bool marked =
        missing.data != nullptr && missing.data[row * missing.row + column * missing.column];
    if (!marked && !is_missing(value)) *end++ = value;
  }
  std::sort(samples, end);
  count = static_cast<std::int32_t>(end - samples);
}

// Strictly ascending thresholds.
template <class V>
std::int32_t split_column(const V* samples, std::int32_t count, V* thresholds, std::int32_t most) {
  const std::int64_t n_cuts = std::min(most, count);
  std::int32_t n = 0;
  const auto add = [&](V threshold) {
    if (n < most && (n == 0 || thresholds[n - 1] < threshold)) thresholds[n++] = threshold;
  };
  for (std::int64_t cut = 0; cut < n_cuts;) {
    const V value = samples[(cut + 1) * count / (n_cuts + 1)];
    std::int64_t end = cut + 1;
    while (end < n_cuts && samples[(end + 1) * count / (n_cuts + 1)] == value) ++end;
    add(value);
    if (end - cut > 1) add(next_above(value));
    cut = end;
  }
  return n;
}

// The range of finite thresholds, which a linear map can cover.
template <class V>
bool finite_span(const V* thresholds, std::int32_t n, bool by_key, double& low, double& high) {
  std::int32_t first = 0, last = n - 1;
  if constexpr (std::is_floating_point_v<V>) {
    while (first < n && !std::isfinite(thresholds[first])) ++first;
    while (last >= first && !std::isfinite(thresholds[last])) --last;
  }
  if (first > last) return false;
  low = static_cast<double>(guide_place(thresholds[first], by_key));
  high = static_cast<double>(guide_place(thresholds[last], by_key));
  return true;
}

// The map from the first threshold to the last; false if it is not representable.
template <class V>
bool make_map(const V* thresholds, std::int32_t n, bool by_key, std::int32_t n_cells,
              GuideColumn& map) {
  using Real = GuideReal<V>;
  double low = 0, high = 0;
  if (!finite_span(thresholds, n, by_key, low, high)) return false;
  const Real span = static_cast<Real>(high) - static_cast<Real>(low);
  const Real scale = static_cast<Real>(n_cells) / span;
  if (!(span > 0) || !std::isfinite(span) || !std::isfinite(scale)) return false;
  map = {low, static_cast<double>(scale), n, by_key ? 1 : 0, 0, 0};
  return true;
}

template <class V>
void fill_cells(const V* thresholds, const GuideColumn& map, std::uint32_t* cells,
                std::int32_t n_cells) {
  const auto low = static_cast<GuideReal<V>>(map.low);
  const auto scale = static_cast<GuideReal<V>>(map.scale);
  std::int32_t at = 0;
  for (std::int32_t cell = 0; cell < n_cells; ++cell) {
    const std::int32_t first = at;
    while (at < map.n_thresholds &&
           guide_cell(thresholds[at], low, scale, map.by_key != 0, n_cells) == cell) {
      ++at;
    }
    cells[cell] =
        pack_cell(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(at - first));
  }
}

// Average comparisons per value, if every interval has the same number of values.
double comparisons(const std::uint32_t* cells, std::int32_t n_cells) {
  double sum = 0;
  for (std::int32_t cell = 0; cell < n_cells; ++cell) {
    const auto count = static_cast<double>(cells[cell] >> 16);
    sum += count * count;
  }
  return sum;
}

template <class V>
void build_column(const V* thresholds, GuideColumn& map, std::uint32_t* cells,
                  std::int32_t n_cells) {
  const std::int32_t n = map.n_thresholds;
  GuideColumn chosen{0, 0, n, 0, 0, 0};  // everything in the first cell: a binary search
  double least = std::numeric_limits<double>::infinity();
  for (const bool by_key : {false, true}) {
    GuideColumn candidate;
    if (!make_map(thresholds, n, by_key, n_cells, candidate)) continue;
    fill_cells(thresholds, candidate, cells, n_cells);
    const double cost = comparisons(cells, n_cells);
    if (cost < least) {
      least = cost;
      chosen = candidate;
    }
  }
  map = chosen;
  fill_cells(thresholds, map, cells, n_cells);
  std::uint32_t fullest = 0;
  for (std::int32_t cell = 0; cell < n_cells; ++cell)
    fullest = std::max(fullest, cells[cell] >> 16);
  map.n_steps = static_cast<std::int32_t>(std::bit_width(fullest));
}

}  // namespace

void sample_columns(StreamView, const Columns& columns, const Operand& samples,
                    const Operand& counts) {
  dispatch_column_type(columns.values.dtype, [&](auto tag) {
    using V = decltype(tag);
    const std::int64_t n_samples = samples.shape[1];
    parallel_for(columns.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        sample_column(columns, column, n_samples,
                      static_cast<V*>(samples.data) + column * n_samples,
                      static_cast<std::int32_t*>(counts.data)[column]);
      }
    });
  });
}

void split_samples(StreamView, const Operand& samples, const Operand& counts,
                   const Guides& guides) {
  dispatch_column_type(samples.dtype, [&](auto tag) {
    using V = decltype(tag);
    for (std::int64_t column = 0; column < guides.n_columns(); ++column) {
      static_cast<GuideColumn*>(guides.columns.data)[column].n_thresholds = split_column(
          static_cast<const V*>(samples.data) + column * samples.shape[1],
          static_cast<const std::int32_t*>(counts.data)[column],
          static_cast<V*>(guides.thresholds.data) + column * guides.pitch(), guides.pitch() - 1);
    }
  });
}

void build_guides(StreamView, const Guides& guides) {
  dispatch_column_type(guides.thresholds.dtype, [&](auto tag) {
    using V = decltype(tag);
    const GuideView<V> view(guides);
    parallel_for(guides.n_columns(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        build_column(view.thresholds + column * view.pitch,
                     static_cast<GuideColumn*>(guides.columns.data)[column],
                     static_cast<std::uint32_t*>(guides.cells.data) + column * view.n_cells,
                     view.n_cells);
      }
    });
  });
}

}  // namespace causeway::kernels::cpu
