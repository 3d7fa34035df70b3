// Random functions from columns to columns, of eight kinds. Fitted parameters use only the rows of
// the first world.
#pragma once

#include "causeway/prior/device/centres.h"
#include "causeway/prior/device/oblivious.h"
#include "causeway/prior/device/quadratic.h"
#include "causeway/prior/device/waves.h"

namespace causeway::prior {

enum class FunctionKind : std::uint8_t {
  mlp,
  trees,
  nearest,
  linear,
  quadratic,
  gaussian_process,
  soft_clusters,
  product
};

// x M^T with a random M.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void linear_function(W& w, Columns x, Columns out) {
  const Scratch scratch(w.arena);
  const MatrixShape shape{1, out.n_columns, x.n_columns};
  float* matrix = w.arena.take(shape.size());
  if (w.arena.failed) return;
  random_matrix(w, shape, matrix);
  if (w.arena.failed) return;
  note_array(w.team, "linear", matrix, shape.size());
  multiply(w, x, matrix, out);
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void mlp_function(W& w, Columns x, Columns out) {
  const int width = integer(w, Number::mlp_width, 1, 128, true);
  const int n_layers = integer(w, Number::mlp_layers, 1, 4, true);
  const bool first = choose(w, Choice::activation_first) == 1;
  const bool last = choose(w, Choice::activation_last) == 1;
  note(w.team, "width", width);
  note(w.team, "layers", n_layers);
  note(w.team, "activation_first", first);
  note(w.team, "activation_last", last);
  const Scratch scratch(w.arena);
  Columns from = x;
  if (first) {
    from = w.take_columns(x.n_columns);
    if (w.arena.failed) return;
    copy(w, x, from);
    random_activation(w, from);
  }
  const Columns hidden[2] = {w.take_columns(n_layers > 1 ? width : 0),
                             w.take_columns(n_layers > 2 ? width : 0)};
  for (int layer = 0; layer < n_layers; ++layer) {
    if (w.arena.failed) return;
    const bool is_last = layer + 1 == n_layers;
    const Columns to = is_last ? out : hidden[layer];
    linear_function(w, from, to);
    if (w.arena.failed) return;
    if (!is_last || last) random_activation(w, to);
    from = to;
  }
}

// Maps every row to the nearest of some random rows, then linearly.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void nearest_function(W& w, Columns x, Columns out) {
  const int most = w.n_fit < kMostCentres ? w.n_fit : kMostCentres;
  const int n_centres = integer(w, Number::n_centres, 2, most, true);
  const float p = number(w, Number::distance_power, {0.5f, 4.0f, true});
  const Scratch scratch(w.arena);
  const MatrixShape shape{1, out.n_columns, x.n_columns};
  float* centres = w.arena.take(static_cast<std::int64_t>(n_centres) * x.n_columns);
  float* matrix = w.arena.take(shape.size());
  float* targets = w.arena.take(static_cast<std::int64_t>(n_centres) * out.n_columns);
  if (w.arena.failed) return;
  random_rows(w, x, n_centres, centres);
  random_matrix(w, shape, matrix);
  if (w.arena.failed) return;
  for_each(w.team, n_centres * out.n_columns, [&](int at) {
    const float* centre = of_device(centres + at % n_centres * x.n_columns);
    const float* row = of_device(matrix + at / n_centres * x.n_columns);
    float sum = 0.0f;
    for (int c = 0; c < x.n_columns; ++c) sum = elementary::fma(centre[c], row[c], sum);
    targets[at] = sum;
  });
  w.team.sync();
  note(w.team, "p", p);
  note_array(w.team, "nearest_matrix", matrix, shape.size());
  note_array(w.team, "centres", centres, static_cast<std::int64_t>(n_centres) * x.n_columns);
  note_array(w.team, "targets", targets, static_cast<std::int64_t>(n_centres) * out.n_columns);
  nearest_centres(w, x, centres, n_centres, p, [&](int row, int b, int k) {
    for (int o = 0; o < out.n_columns; ++o) out.column(o)[row + b] = targets[o * n_centres + k];
  });
}

// Soft assignment to some centres, as in the EM algorithm, mapped linearly.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void clusters_function(W& w, Columns x, Columns out) {
  constexpr int kRows = W::Team::kRows;
  const int wide = 2 * out.n_columns;
  const int n_centres = integer(w, Number::em_components, 2, (wide > 16 ? wide : 16) + 1, true);
  const float spread = number(w, Number::em_spread, {0.0f, 1.0f});
  const float p = number(w, Number::em_power, {1.0f, 4.0f, true});
  const float q = number(w, Number::em_exponent, {1.0f, 2.0f});
  const int n_in = x.n_columns;
  const Scratch scratch(w.arena);
  float* centres = w.arena.take(static_cast<std::int64_t>(n_centres) * n_in);
  float* log_widths = w.arena.take(n_centres);
  const Columns shares = w.take_columns(n_centres);
  if (w.arena.failed) return;
  const std::uint32_t row_site = w.next_site();
  const std::uint32_t site = w.next_site();
  normals_of_rows(w, site, 0, n_centres, n_in + 1, [&](int k, int i, float value) {
    const int row = bounded(w.draws.bits(row_site, static_cast<std::uint32_t>(k)).word[0], w.n_fit);
    if (i < n_in) centres[k * n_in + i] = x.column(i)[row] + value;
    if (i == n_in) log_widths[k] = spread * value;
  });
  w.team.sync();
  note(w.team, "p", p);
  note(w.team, "q", q);
  note_array(w.team, "centres", centres, static_cast<std::int64_t>(n_centres) * n_in);
  note_array(w.team, "log_widths", log_widths, n_centres);
  constexpr int kMany = kCentresAtOnce<W>;
  const TransposedCentres transposed = TransposedCentres::of(w, centres, n_centres, n_in);
  if (w.arena.failed) return;
  for_rows(w.team, w.n_rows, [&](int row) {
    float greatest[kRows];
    for (int b = 0; b < kRows; ++b) greatest[b] = -3.4e38f;
    for (int first = 0; first < n_centres; first += kMany) {
      float sum[kMany][kRows] = {};
      add_distances(x, row, transposed, first, p, sum);
      CAUSEWAY_UNROLL
      for (int j = 0; j < kMany; ++j) {
        if (first + j >= n_centres) continue;
        const float log_width = log_widths[first + j];
        for (int b = 0; b < kRows; ++b) {  // -log(2 pi s^2) / 2 - (distance / s)^q
          const float log_distance = elementary::log_of_normal(sum[j][b] + 1e-30f) / p - log_width;
          const float share = -0.918938533f - log_width -
                              elementary::exp_within(clamped(q * log_distance, -86.0f, 86.0f));
          shares.column(first + j)[row + b] = share;
          greatest[b] = share > greatest[b] ? share : greatest[b];
        }
      }
    }
    float total[kRows] = {};
    for (int k = 0; k < n_centres; ++k) {
      float* column = shares.column(k) + row;
      for (int b = 0; b < kRows; ++b) {
        column[b] = elementary::exp(column[b] - greatest[b]);
        total[b] += column[b];
      }
    }
    for (int k = 0; k < n_centres; ++k) {
      float* column = shares.column(k) + row;
      for (int b = 0; b < kRows; ++b) column[b] /= total[b];
    }
  });
  w.team.sync();
  linear_function(w, shares, out);
}

// Any kind except the product of others.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void apply_function(W& w, FunctionKind kind, Columns x, Columns out) {
  note(w.team, "function", static_cast<double>(kind));
  switch (kind) {
    case FunctionKind::mlp: return mlp_function(w, x, out);
    case FunctionKind::trees: return trees_function(w, x, out);
    case FunctionKind::nearest: return nearest_function(w, x, out);
    case FunctionKind::linear: return linear_function(w, x, out);
    case FunctionKind::quadratic: return quadratic_function(w, x, out);
    case FunctionKind::gaussian_process: return process_function(w, x, out);
    default: return clusters_function(w, x, out);
  }
}

// One of the five cheapest kinds.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void cheap_function(W& w, Columns x, Columns out) {
  constexpr FunctionKind kCheap[] = {FunctionKind::gaussian_process, FunctionKind::trees,
                                     FunctionKind::nearest, FunctionKind::linear,
                                     FunctionKind::quadratic};
  apply_function(w, kCheap[choose(w, Choice::cheap_function)], x, out);
}

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_function(W& w, Columns x, Columns out) {
  const auto kind = static_cast<FunctionKind>(choose(w, Choice::function));
  if (kind != FunctionKind::product) return apply_function(w, kind, x, out);
  note(w.team, "function", static_cast<double>(kind));
  const Scratch scratch(w.arena);
  const Columns other = w.take_columns(out.n_columns);
  if (w.arena.failed) return;
  cheap_function(w, x, out);
  cheap_function(w, x, other);
  if (w.arena.failed) return;
  map_cells(
      w, out.n_columns, [&](int c, int row) { return out.column(c)[row] * other.column(c)[row]; },
      [&](int c, int row, float value) { out.column(c)[row] = value; });
}

}  // namespace causeway::prior
