// The inputs of a tabular transformer on the CPU.
#include "causeway/models/kernels/tabular.h"

#include "causeway/kernels/loop_cpu.h"
#include "causeway/kernels/dispatch.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace causeway::kernels::cpu {

namespace {

struct Moments {
  float mean = 0;
  float inverse = 0;
};

// Of `count` values with stride `step`; ignores those that are not finite.
Moments moments_of(const float* values, std::int64_t step, std::int64_t count) {
  double sum = 0;
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = values[i * step];
    if (!is_number(value)) continue;
    sum += value;
    ++n;
  }
  if (n == 0) return {};
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = values[i * step];
    if (is_number(value)) squares += (value - mean) * (value - mean);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(n));
  return {static_cast<float>(mean), inverse_deviation(mean, deviation)};
}

// Writes the tokens of a row, counted from the first thinking row. Cells are computed once, in
// `cells`, though several tokens read them.
template <class T>
void write_row(const TableInputs& inputs, const TableView& view, std::int64_t table,
               std::int64_t row, std::vector<float>& cells, T* token) {
  const int n_parts = inputs.n_parts();
  const std::int64_t own = row - inputs.n_thinking;
  const bool has_cells = own >= 0 && own < view.sizes[3 * table];
  const std::int64_t n_features = has_cells ? view.sizes[3 * table + 1] : 0;
  float* cell = cells.data();
  for (std::int64_t column = 0; column < n_features; ++column) {
    for (int part = 0; part < n_parts; ++part)
      *cell++ = view.cell(inputs, table, own, column, part);
  }
  const std::int64_t n_own = inputs.feature_tokens(n_features);
  const std::int64_t n_tokens = 1 + inputs.feature_tokens(view.n_features);
  for (std::int64_t i = 0; i < n_tokens; ++i, token += inputs.width()) {
    int k = 0;
    if (i > 0 && i <= n_own) {
      for (int member = 0; member < inputs.group; ++member) {
        cell = cells.data() + inputs.source(i - 1, member, n_features) * n_parts;
        for (int part = 0; part < n_parts; ++part) {
          token[part * inputs.group + member] = static_cast<T>(cell[part]);
        }
      }
      k = inputs.feature();
    }
    for (; k < inputs.width(); ++k) {
      token[k] = static_cast<T>(view.input(inputs, table, row, i, k));
    }
  }
}

}  // namespace

void table_statistics(StreamView, const Operand& x, const Operand& y, const Operand& sizes,
                      const Operand& statistics) {
  const std::int64_t n_rows = x.shape[1];
  const std::int64_t n_features = x.shape[2];
  const auto* values = static_cast<const float*>(x.data);
  const auto* targets = static_cast<const float*>(y.data);
  const auto* size = static_cast<const std::int64_t*>(sizes.data);
  auto* out = static_cast<float*>(statistics.data);
  parallel_for(x.shape[0] * (n_features + 1), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t table = at / (n_features + 1);
      const std::int64_t column = at % (n_features + 1);
      const std::int64_t n_context = size[3 * table + 2];
      Moments moments;
      if (column == n_features) {
        moments = moments_of(targets + table * n_rows, 1, n_context);
      } else if (column < size[3 * table + 1]) {
        moments = moments_of(values + table * n_rows * n_features + column, n_features, n_context);
      }
      out[2 * at] = moments.mean;
      out[2 * at + 1] = moments.inverse;
    }
  });
}

void table_inputs(StreamView, const TableInputs& inputs, const Operand& x, const Operand& y,
                  const Operand& sizes, const Operand& statistics, const Operand& sorted,
                  const Operand& out) {
  const TableView view{static_cast<const float*>(x.data),
                       static_cast<const float*>(y.data),
                       static_cast<const std::int64_t*>(sizes.data),
                       static_cast<const float*>(statistics.data),
                       x.shape[1],
                       x.shape[2],
                       static_cast<const float*>(sorted.data),
                       inputs.radial ? sorted.shape[2] : 0};
  const std::int64_t rows = out.shape[1];
  const std::int64_t first = inputs.n_thinking + x.shape[1] - rows;
  const std::int64_t n_tokens = out.shape[2];
  const int width = inputs.width();
  dispatch_floating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = static_cast<T*>(out.data);
    parallel_for(out.shape[0] * rows, 16, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> cells(static_cast<std::size_t>(x.shape[2] * inputs.n_parts()));
      for (std::int64_t at = begin; at < end; ++at) {
        write_row(inputs, view, at / rows, first + at % rows, cells, to + at * n_tokens * width);
      }
    });
  });
}

void table_targets(StreamView, const Operand& y, const Operand& sizes, const Operand& statistics,
                   const Operand& borders, const Operand& out) {
  const std::int64_t n_rows = y.shape[1];
  const std::int64_t n_features = statistics.shape[1] - 1;
  const TableView view{nullptr,
                       static_cast<const float*>(y.data),
                       static_cast<const std::int64_t*>(sizes.data),
                       static_cast<const float*>(statistics.data),
                       n_rows,
                       n_features};
  auto* to = static_cast<std::int64_t*>(out.data);
  const auto* border = static_cast<const float*>(borders.data);
  const std::int64_t n_borders = border == nullptr ? 0 : borders.shape[0];
  for (std::int64_t at = 0; at < y.shape[0] * n_rows; ++at) {
    to[at] = view.target(at / n_rows, at % n_rows, border, n_borders);
  }
}

}  // namespace causeway::kernels::cpu
