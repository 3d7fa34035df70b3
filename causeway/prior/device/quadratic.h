// Random quadratic functions.
#pragma once

#include "causeway/prior/device/matrix.h"

namespace causeway::prior {

inline constexpr int kQuadraticInputs = 20;

// Adds the products x_i x_j, i <= j, with indices begin ... end in lexicographic order. The last x
// is the constant 1.
template <int kWide>
CAUSEWAY_HOST_DEVICE void add_products(Columns x, int row, int begin, int end, const float* from,
                                       int pitch, float (&sum)[kWide]) {
  for (int i = 0, first = 0; i < x.n_columns && first < end; ++i) {
    const int n = x.n_columns - i;  // plus one with the constant
    const int low = begin > first ? begin - first : 0;
    const int high = end - first < n ? end - first : n;
    const float one = x.column(i)[row];
    if (low < high) {
      add_columns(x.slice(i + low, high - low), row, from, pitch, sum,
                  [&](float value) { return one * value; });
      from += (high - low) * pitch;
    }
    if (low <= n && n < end - first) {
      add_input(one, from, sum);
      from += pitch;
    }
    first += n + 1;
  }
  const int last = (x.n_columns + 1) * (x.n_columns + 2) / 2 - 1;
  if (begin <= last && last < end) add_input(1.0f, from, sum);
}

// GPU: the products of quadratic_function times their factors, without storing them. Columns that
// are not contiguous are copied to the memory reserved for the products.
template <class W, class Used>
CAUSEWAY_HOST_DEVICE void multiply_products(W& w, Columns x, const Used& used, int n_used,
                                            const float* folded, Columns products, Columns out) {
  const int pitch = tiled(out.n_columns);
  const Scratch scratch(w.arena);
  float* transposed = w.arena.take(static_cast<std::int64_t>(products.n_columns) * pitch);
  if (w.arena.failed) return;
  Columns inputs = x;
  if (n_used < x.n_columns) {
    inputs = products.slice(0, n_used);
    for (int i = 0; i < n_used; ++i) {
      const float* from = x.column(used(i));
      for_each(w.team, w.n_rows, [&](int row) { inputs.column(i)[row] = from[row]; });
    }
  }
  transpose_factors(w, folded, products.n_columns, out.n_columns, pitch, transposed);
  sum_outputs(w, transposed, products.n_columns, pitch, out,
              [&](int row, int begin, int end, const float* factors, int step, auto& sum) {
                add_products(inputs, row, begin, end, factors, step, sum);
              });
  w.team.sync();
}

// sum_ij T_oij x_i x_j over up to 20 random columns and a constant: linear in the products, where i
// < j counts twice.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void quadratic_function(W& w, Columns x, Columns out) {
  constexpr int kRows = W::Team::kRows;
  const Order order(w.draws, w.next_site(), x.n_columns);
  const int n_used = x.n_columns < kQuadraticInputs ? x.n_columns : kQuadraticInputs;
  const int n = n_used + 1;
  const int n_products = n * (n + 1) / 2;
  const auto used = [&](int i) { return x.n_columns > kQuadraticInputs ? order(i) : i; };
  const Scratch scratch(w.arena);
  const MatrixShape shape{out.n_columns, n, n};
  float* tensor = w.arena.take(shape.size());
  float* folded = w.arena.take(static_cast<std::int64_t>(out.n_columns) * n_products);
  const Columns products = w.take_columns(n_products);
  if (w.arena.failed) return;
  random_matrix(w, shape, tensor);
  if (w.arena.failed) return;
  for (int i = 0; W::Team::kTraces && i < n_used; ++i) note(w.team, "used", used(i));
  note_array(w.team, "tensor", tensor, shape.size());
  for_each(w.team, out.n_columns * n, [&](int at) {
    const int o = at / n;
    const int i = at - o * n;
    const float* of = of_device(tensor + static_cast<std::int64_t>(o) * n * n);
    float* to = folded + static_cast<std::int64_t>(o) * n_products + i * n - i * (i - 1) / 2 - i;
    for (int j = i; j < n; ++j) to[j] = i == j ? of[i * n + j] : of[i * n + j] + of[j * n + i];
  });
  w.team.sync();
  if constexpr (W::Team::kRows == 1)
    return multiply_products(w, x, used, n_used, folded, products, out);
  int at = 0;
  for (int i = 0; i < n; ++i) {
    const float* first = x.column(i < n_used ? used(i) : 0);
    for (int j = i; j < n; ++j, ++at) {
      const float* second = x.column(j < n_used ? used(j) : 0);
      float* to = products.column(at);
      for_rows(w.team, w.n_rows, [&](int row) {
        for (int b = 0; b < kRows; ++b) {
          const float one = i < n_used ? first[row + b] : 1.0f;
          to[row + b] = j < n_used ? one * second[row + b] : one;
        }
      });
    }
  }
  w.team.sync();
  multiply(w, products, folded, out);
}

}  // namespace causeway::prior
