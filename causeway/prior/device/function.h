// Random functions from some columns to others: eight kinds. Whatever a function is fitted to, it
// is fitted to the rows of the first world.
#pragma once

#include "causeway/prior/device/matrix.h"
#include "causeway/prior/device/oblivious.h"

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

inline constexpr int kMostCentres = 256;
inline constexpr int kFrequencies = 256;
inline constexpr int kQuadraticInputs = 20;

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

// |distance|^p, to be added up.
CAUSEWAY_HOST_DEVICE float distance_term(float distance, float p) {
  return quick_power(elementary::magnitude(distance) + 1e-30f, p);
}

// sum_c |x_c - centre_c|^p of some neighbouring rows, to two centres.
template <int kRows>
CAUSEWAY_HOST_DEVICE void add_distances(Columns x, int row, const float* first, const float* second,
                                        float p, float (&sum)[2][kRows]) {
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
  for (int c = 0; c < x.n_columns; ++c) {
    const float* column = x.column(c) + row;
    const float to_first = first[c];
    const float to_second = second[c];
    for (int b = 0; b < kRows; ++b) {
      sum[0][b] += distance_term(column[b] - to_first, p);
      sum[1][b] += distance_term(column[b] - to_second, p);
    }
  }
}

// Centres that are distinct random rows: (n_centres, columns), row by row.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_rows(W& w, Columns x, int n_centres, float* centres) {
  const Order order(w.draws, w.next_site(), w.n_fit);
  for_each(w.team, n_centres, [&](int k) {
    const int row = order(k);
    for (int c = 0; c < x.n_columns; ++c) centres[k * x.n_columns + c] = x.column(c)[row];
  });
  w.team.sync();
}

// f(row, b, centre) with the nearest centre of each row, in L_p.
template <class W, class F>
CAUSEWAY_HOST_DEVICE void nearest_centres(W& w, Columns x, const float* centres, int n_centres,
                                          float p, const F& f) {
  constexpr int kRows = W::Team::kRows;
  for_rows(w.team, w.n_rows, [&](int row) {
    float best[kRows];
    std::int32_t found[kRows] = {};
    for (int b = 0; b < kRows; ++b) best[b] = 3.4e38f;
    for (int k = 0; k < n_centres; k += 2) {
      const float* centre = centres + static_cast<std::int64_t>(k) * x.n_columns;
      const float* other = k + 1 < n_centres ? centre + x.n_columns : centre;
      float sum[2][kRows] = {};
      add_distances(x, row, centre, other, p, sum);
      for (int b = 0; b < kRows; ++b) {
        const bool nearer = sum[0][b] < best[b];
        found[b] = nearer ? k : found[b];
        best[b] = nearer ? sum[0][b] : best[b];
        const bool nearest = sum[1][b] < best[b];  // never, if it is the same centre
        found[b] = nearest ? k + 1 : found[b];
        best[b] = nearest ? sum[1][b] : best[b];
      }
    }
    for (int b = 0; b < kRows; ++b) f(row, b, found[b]);
  });
  w.team.sync();
}

// The nearest of some rows, mapped linearly.
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
    const float* centre = centres + static_cast<std::int64_t>(at % n_centres) * x.n_columns;
    const float* row = matrix + static_cast<std::int64_t>(at / n_centres) * x.n_columns;
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

// The products of quadratic_function with their factors, by many: none is stored but as the two
// places where its columns begin, in the memory that was taken for them all.
template <class W, class Used>
CAUSEWAY_HOST_DEVICE void multiply_products(W& w, Columns x, const Used& used, int n_used,
                                            const float* folded, Columns products, Columns out) {
  const int pitch = tiled(out.n_columns);
  const Scratch scratch(w.arena);
  float* turned = w.arena.take(static_cast<std::int64_t>(products.n_columns) * pitch);
  if (w.arena.failed) return;
  auto* pairs = reinterpret_cast<std::int32_t*>(products.data);
  for_each(w.team, n_used + 1, [&](int i) {
    int at = i * (n_used + 1) - i * (i - 1) / 2;  // where those of i begin
    for (int j = i; j <= n_used; ++j, ++at) {
      pairs[2 * at] = i < n_used ? used(i) * x.stride : -1;
      pairs[2 * at + 1] = j < n_used ? used(j) * x.stride : -1;
    }
  });
  turn_factors(w, folded, products.n_columns, out.n_columns, pitch, turned);
  const auto product = [&](int at, int row) {
    const int i = pairs[2 * at];
    const int j = pairs[2 * at + 1];
    const float first = i >= 0 ? x.data[i + row] : 1.0f;
    return j >= 0 ? first * x.data[j + row] : first;
  };
  multiply_by_many(w, products.n_columns, product, turned, pitch, out);
  w.team.sync();
}

// sum_ij T_oij x_i x_j over up to 20 random columns and a constant: linear in the products, of
// which those of i < j stand for two.
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
  for_each(w.team, out.n_columns, [&](int o) {
    const float* of = tensor + static_cast<std::int64_t>(o) * n * n;
    float* to = folded + static_cast<std::int64_t>(o) * n_products;
    for (int i = 0; i < n; ++i) {
      for (int j = i; j < n; ++j) *to++ = i == j ? of[i * n + j] : of[i * n + j] + of[j * n + i];
    }
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

// The frequencies of the features below: (kFrequencies, columns), row by row.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_frequencies(W& w, int n_in, float* frequencies) {
  const float decay = number(w, Number::gp_decay, {2.0f, 20.0f, true});
  const bool product = choose(w, Choice::product_kernel) == 1;
  const std::uint32_t site = w.next_site();
  const auto radius = [&](std::uint32_t a, std::uint32_t b) {  // by the inverse of its CDF
    const float u = clamped(w.draws.uniform(site, a, b), 1e-6f, 1.0f - 1e-6f);
    return power(u, 1.0f / (1.0f - decay)) - 1.0f;
  };
  note(w.team, "product_kernel", product);
  note(w.team, "decay", decay);
  note(w.team, "radius_site", site);
  if (product) {  // independent along every axis
    for_each(w.team, kFrequencies * n_in,
             [&](int at) { frequencies[at] = radius(static_cast<std::uint32_t>(at), 0); });
    w.team.sync();
    return;
  }
  const float scale = number(w, Number::gp_scale, {0.5f, 10.0f, true});
  const Scratch scratch(w.arena);
  const MatrixShape square{1, n_in, n_in};
  float* transform = w.arena.take(square.size());
  float* weights = w.arena.take(n_in);
  float* directions = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  float* turned = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  if (w.arena.failed) return;
  gaussian_matrix(w, square, transform);
  const std::uint32_t weight_site = w.next_site();
  if (w.team.rank() == 0) {
    draw_weights(w.draws, weight_site, 0, n_in, [&](int i) -> float& { return weights[i]; });
  }
  const std::uint32_t direction_site = w.next_site();
  for_each(w.team, kFrequencies, [&](int f) {
    const auto at = static_cast<std::uint32_t>(f);
    float squares = 0.0f;
    row_normals(w.draws, direction_site, at, n_in, [&](int i, float value) {
      directions[i * kFrequencies + f] = value;
      squares = elementary::fma(value, value, squares);
    });
    const float factor = scale * radius(at, 1) / (elementary::square_root(squares) + 1e-30f);
    for (int i = 0; i < n_in; ++i) directions[i * kFrequencies + f] *= factor;
  });
  w.team.sync();
  note(w.team, "gp_scale", scale);
  note(w.team, "direction_site", direction_site);
  note_array(w.team, "transform", transform, square.size());
  note_array(w.team, "axis_weights", weights, n_in);
  W of = with_rows(w, kFrequencies);
  multiply(of, Columns{directions, n_in, kFrequencies}, transform,
           Columns{turned, n_in, kFrequencies});
  for_each(w.team, kFrequencies * n_in, [&](int at) {
    const int i = at % n_in;
    frequencies[at] = turned[i * kFrequencies + at / n_in] * weights[i];
  });
  w.team.sync();
}

// The features of process_function with their weights, by many: none is stored, but eight at a time
// go into the sums of all outputs.
template <class W>
CAUSEWAY_HOST_DEVICE void add_waves(W& w, Columns x, const float* frequencies, const float* phases,
                                    const float* weights, Columns out) {
  constexpr int kEach = 2;
  constexpr int kOuts = 4;
  const int n_in = x.n_columns;
  const int pitch = tiled(out.n_columns);
  const Scratch scratch(w.arena);
  // As much as one thread takes for its two products.
  float* turned =
      w.arena.take(static_cast<std::int64_t>(kFrequencies) * (n_in > pitch ? n_in : pitch));
  if (w.arena.failed) return;
  turn_factors(w, frequencies, n_in, kFrequencies, kFrequencies, turned);
  const int step = w.team.size();
  for (int first = w.team.rank(); first < w.n_rows; first += kEach * step) {
    int rows[kEach];
    CAUSEWAY_UNROLL
    for (int b = 0; b < kEach; ++b) rows[b] = first + b * step < w.n_rows ? first + b * step : -1;
    for (int f = 0; f < kFrequencies; f += kTile) {
      float factors[kTile];
      float waves[kEach][kTile] = {};
      for (int i = 0; i < n_in; ++i) {
        load_tile(turned + i * kFrequencies + f, factors);
        CAUSEWAY_UNROLL
        for (int b = 0; b < kEach; ++b) {
          const float value = x.column(i)[rows[b] < 0 ? first : rows[b]];
          CAUSEWAY_UNROLL
          for (int k = 0; k < kTile; ++k) {
            waves[b][k] = elementary::fma(value, factors[k], waves[b][k]);
          }
        }
      }
      load_tile(phases + f, factors);
      CAUSEWAY_UNROLL
      for (int b = 0; b < kEach; ++b) {
        CAUSEWAY_UNROLL
        for (int k = 0; k < kTile; ++k) waves[b][k] = cos_of(waves[b][k] + factors[k]);
      }
      for (int o = 0; o < out.n_columns; o += kOuts) {
        float sum[kOuts][kEach] = {};
        CAUSEWAY_UNROLL
        for (int j = 0; j < kOuts; ++j) {
          if (f == 0 || o + j >= out.n_columns) continue;
          CAUSEWAY_UNROLL
          for (int b = 0; b < kEach; ++b) {
            sum[j][b] = out.column(o + j)[rows[b] < 0 ? first : rows[b]];
          }
        }
        CAUSEWAY_UNROLL
        for (int j = 0; j < kOuts; ++j) {
          if (o + j >= out.n_columns) continue;
          load_tile(weights + static_cast<std::int64_t>(o + j) * kFrequencies + f, factors);
          CAUSEWAY_UNROLL
          for (int b = 0; b < kEach; ++b) {
            CAUSEWAY_UNROLL
            for (int k = 0; k < kTile; ++k) {
              sum[j][b] = elementary::fma(waves[b][k], factors[k], sum[j][b]);
            }
          }
        }
        CAUSEWAY_UNROLL
        for (int j = 0; j < kOuts; ++j) {
          if (o + j >= out.n_columns) continue;
          CAUSEWAY_UNROLL
          for (int b = 0; b < kEach; ++b) {
            if (rows[b] >= 0) out.column(o + j)[rows[b]] = sum[j][b];
          }
        }
      }
    }
  }
  w.team.sync();
}

// A Gaussian process by 256 random Fourier features.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void process_function(W& w, Columns x, Columns out) {
  constexpr int kRows = W::Team::kRows;
  const int n_in = x.n_columns;
  const Scratch scratch(w.arena);
  float* frequencies = w.arena.take(static_cast<std::int64_t>(n_in) * kFrequencies);
  const std::int64_t n_weights = static_cast<std::int64_t>(out.n_columns) * kFrequencies;
  float* weights = take_normals(w, n_weights);
  const Columns features = w.take_columns(kFrequencies);
  float* phases = w.arena.take(kFrequencies);
  if (w.arena.failed) return;
  draw_frequencies(w, n_in, frequencies);
  if (w.arena.failed) return;
  const std::uint32_t phase_site = w.next_site();
  fill_normals(w, w.next_site(), weights, n_weights);
  for_each(w.team, static_cast<int>(n_weights), [&](int i) { weights[i] *= 0.0625f; });
  for_each(w.team, kFrequencies, [&](int f) {
    phases[f] = 6.28318531f * w.draws.uniform(phase_site, static_cast<std::uint32_t>(f));
  });
  w.team.sync();
  note_array(w.team, "phases", phases, kFrequencies);
  note_array(w.team, "frequencies", frequencies, static_cast<std::int64_t>(n_in) * kFrequencies);
  note_array(w.team, "weights", weights, n_weights);
  if constexpr (W::Team::kRows == 1) return add_waves(w, x, frequencies, phases, weights, out);
  multiply(w, x, frequencies, features);
  for_rows(w.team, w.n_rows, [&](int row) {
    for (int f = 0; f < kFrequencies; ++f) {
      float* column = features.column(f) + row;
      const float phase = phases[f];
      for (int b = 0; b < kRows; ++b) column[b] = cos_of(column[b] + phase);
    }
  });
  w.team.sync();
  multiply(w, features, weights, out);
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
  for_each(w.team, n_centres, [&](int k) {
    const auto at = static_cast<std::uint32_t>(k);
    const int row = bounded(w.draws.bits(row_site, at).word[0], w.n_fit);
    row_normals(w.draws, site, at, n_in + 1, [&](int i, float value) {
      if (i < n_in) centres[k * n_in + i] = x.column(i)[row] + value;
      if (i == n_in) log_widths[k] = spread * value;
    });
  });
  w.team.sync();
  note(w.team, "p", p);
  note(w.team, "q", q);
  note_array(w.team, "centres", centres, static_cast<std::int64_t>(n_centres) * n_in);
  note_array(w.team, "log_widths", log_widths, n_centres);
  for_rows(w.team, w.n_rows, [&](int row) {
    float greatest[kRows];
    for (int b = 0; b < kRows; ++b) greatest[b] = -3.4e38f;
    for (int first = 0; first < n_centres; first += 2) {
      const int here = n_centres - first < 2 ? 1 : 2;
      const float* centre = centres + static_cast<std::int64_t>(first) * n_in;
      float sum[2][kRows] = {};
      add_distances(x, row, centre, here == 2 ? centre + n_in : centre, p, sum);
      CAUSEWAY_UNROLL
      for (int j = 0; j < 2; ++j) {
        if (j >= here) continue;
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

// Of any kind but a product of others.
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

// One of the five that cost least.
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
