// Activation functions: 27 fixed ones, of which four act on a whole row (rank, softmax, is_max,
// argsort), and powers.
#pragma once

#include "causeway/prior/device/columns.h"
#include "causeway/prior/device/sampler.h"

namespace causeway::prior {

enum class Activation : std::uint8_t {
  tanh,
  leaky_relu,
  elu,
  identity,
  selu,
  silu,
  relu,
  softplus,
  relu6,
  hardtanh,
  sign,
  heaviside,
  rbf,
  exp,
  inside_unit,
  sin,
  square,
  magnitude,
  log_magnitude,
  rank,
  sigmoid,
  round,
  fraction,
  softmax,
  is_max,
  argsort,
  log_sigmoid,
  relu_power,
  signed_power,
  negative_power,
  integer_power
};

CAUSEWAY_HOST_DEVICE bool acts_on_rows(Activation kind) {
  return kind == Activation::rank || kind == Activation::softmax || kind == Activation::is_max ||
         kind == Activation::argsort;
}

CAUSEWAY_HOST_DEVICE float sigmoid_of(float x) {
  return 1.0f / (1.0f + elementary::exp(clamped(-x, -80.0f, 80.0f)));
}

// log(1 + exp(x)).
CAUSEWAY_HOST_DEVICE float softplus_of(float x) {
  const float tail = elementary::log(1.0f + elementary::exp(-elementary::magnitude(x)));
  return at_least(x, 0.0f) + tail;
}

CAUSEWAY_HOST_DEVICE float whole_power(float x, int exponent) {
  float result = x;
  for (int k = 1; k < exponent; ++k) result *= x;
  return result;
}

// Elementwise; not for kinds that act on rows.
template <Activation kKind>
CAUSEWAY_HOST_DEVICE float activate(float x, float exponent) {
  using A = Activation;
  if constexpr (kKind == A::tanh) return elementary::tanh(x);
  if constexpr (kKind == A::leaky_relu) return x > 0.0f ? x : 0.01f * x;
  if constexpr (kKind == A::elu) return x > 0.0f ? x : elementary::exp(at_most(x, 0.0f)) - 1.0f;
  if constexpr (kKind == A::selu) {
    return 1.05070099f * (x > 0.0f ? x : 1.67326324f * (elementary::exp(at_most(x, 0.0f)) - 1.0f));
  }
  if constexpr (kKind == A::silu) return x * sigmoid_of(x);
  if constexpr (kKind == A::relu) return at_least(x, 0.0f);
  if constexpr (kKind == A::softplus) return softplus_of(x);
  if constexpr (kKind == A::relu6) return clamped(x, 0.0f, 6.0f);
  if constexpr (kKind == A::hardtanh) return clamped(x, -1.0f, 1.0f);
  if constexpr (kKind == A::sign) return x >= 0.0f ? 1.0f : -1.0f;
  if constexpr (kKind == A::heaviside) return x >= 0.0f ? 1.0f : 0.0f;
  if constexpr (kKind == A::rbf) return elementary::exp(-(x * x));
  if constexpr (kKind == A::exp) return elementary::exp(x);
  if constexpr (kKind == A::inside_unit) return elementary::magnitude(x) <= 1.0f ? 1.0f : 0.0f;
  if constexpr (kKind == A::sin) return sin_of(x);
  if constexpr (kKind == A::square) return x * x;
  if constexpr (kKind == A::magnitude) return elementary::magnitude(x);
  if constexpr (kKind == A::log_magnitude) {
    return elementary::log(at_least(elementary::magnitude(x), 1e-6f));
  }
  if constexpr (kKind == A::sigmoid) return sigmoid_of(x);
  if constexpr (kKind == A::round)
    return elementary::magnitude(x) < 4e6f ? elementary::nearest(x) : x;
  if constexpr (kKind == A::fraction) return x - floor_of(x);
  if constexpr (kKind == A::log_sigmoid) return -softplus_of(-x);
  if constexpr (kKind == A::relu_power) return power(at_least(x, 0.0f), exponent);
  if constexpr (kKind == A::signed_power) {
    const float result = power(elementary::magnitude(x), exponent);
    return x >= 0.0f ? result : -result;
  }
  if constexpr (kKind == A::negative_power) {
    return power(elementary::magnitude(x) + 1e-3f, -exponent);
  }
  if constexpr (kKind == A::integer_power) return whole_power(x, static_cast<int>(exponent));
  return x;
}

// Calls f(activate<kind>) for a kind known at run time: the switch is outside f's loops.
template <class F>
CAUSEWAY_HOST_DEVICE void with_activation(Activation kind, const F& f) {
  using A = Activation;
#define CAUSEWAY_ACTIVATION(name) \
  case A::name: return f([](float x, float exponent) { return activate<A::name>(x, exponent); })
  switch (kind) {
    CAUSEWAY_ACTIVATION(tanh);
    CAUSEWAY_ACTIVATION(leaky_relu);
    CAUSEWAY_ACTIVATION(elu);
    CAUSEWAY_ACTIVATION(selu);
    CAUSEWAY_ACTIVATION(silu);
    CAUSEWAY_ACTIVATION(relu);
    CAUSEWAY_ACTIVATION(softplus);
    CAUSEWAY_ACTIVATION(relu6);
    CAUSEWAY_ACTIVATION(hardtanh);
    CAUSEWAY_ACTIVATION(sign);
    CAUSEWAY_ACTIVATION(heaviside);
    CAUSEWAY_ACTIVATION(rbf);
    CAUSEWAY_ACTIVATION(exp);
    CAUSEWAY_ACTIVATION(inside_unit);
    CAUSEWAY_ACTIVATION(sin);
    CAUSEWAY_ACTIVATION(square);
    CAUSEWAY_ACTIVATION(magnitude);
    CAUSEWAY_ACTIVATION(log_magnitude);
    CAUSEWAY_ACTIVATION(sigmoid);
    CAUSEWAY_ACTIVATION(round);
    CAUSEWAY_ACTIVATION(fraction);
    CAUSEWAY_ACTIVATION(log_sigmoid);
    CAUSEWAY_ACTIVATION(relu_power);
    CAUSEWAY_ACTIVATION(signed_power);
    CAUSEWAY_ACTIVATION(negative_power);
    CAUSEWAY_ACTIVATION(integer_power);
    default: return f([](float x, float) { return x; });
  }
#undef CAUSEWAY_ACTIVATION
}

// Activates the first n values of a column in place. The switch contains nothing else: each case is
// code that a GPU has to fetch, and that is rarely in the instruction cache.
template <class Lanes>
CAUSEWAY_HOST_DEVICE_CALL void activate_column(const Lanes lanes, Activation kind, float exponent,
                                               float* column, int n) {
  if (kind == Activation::identity) return;
  of_device(column);
  with_activation(kind, [&](const auto& act) {
    lanes.each(n, [&](int i) { column[i] = act(column[i], exponent); });
  });
}

// Ranks of kMany values, from the i-th on, among n values; ties keep their order. Indices past the
// end repeat the last value.
template <int kMany, int kRows, class Value>
CAUSEWAY_HOST_DEVICE void ranks_of(int i, int n, const Value& value, float (&rank)[kMany][kRows]) {
  float own[kMany][kRows];
  CAUSEWAY_UNROLL
  for (int k = 0; k < kMany; ++k) {
    for (int b = 0; b < kRows; ++b) {
      own[k][b] = value(i + k < n ? i + k : n - 1, b);
      rank[k][b] = 0.0f;
    }
  }
  const auto compare = [&](int from, int to, const auto& comes_before) {
    for (int j = from; j < to; ++j) {
      for (int b = 0; b < kRows; ++b) {
        const float other = value(j, b);
        CAUSEWAY_UNROLL
        for (int k = 0; k < kMany; ++k) {
          rank[k][b] += comes_before(j, other, k, own[k][b]) ? 1.0f : 0.0f;
        }
      }
    }
  };
  const int end = i + kMany < n ? i + kMany : n;
  compare(0, i, [](int, float other, int, float self) { return other <= self; });
  compare(i, end, [&](int j, float other, int k, float self) {
    return j < i + k ? other <= self : other < self;
  });
  compare(end, n, [](int, float other, int, float self) { return other < self; });
}

// rank or argsort of a block of rows.
template <int kRows, class Value>
CAUSEWAY_HOST_DEVICE void rank_rows(Activation kind, int row, int n, const Value& value,
                                    Columns out) {
  constexpr int kMany = kRows == 1 ? 8 : 1;
  for (int c = 0; c < n; ++c) {  // with a NaN in the row not every place is written
    for (int b = 0; b < kRows; ++b) out.column(c)[row + b] = 0.0f;
  }
  for (int c = 0; c < n; c += kMany) {
    float rank[kMany][kRows];
    ranks_of(c, n, value, rank);
    CAUSEWAY_UNROLL
    for (int k = 0; k < kMany; ++k) {
      if (c + k >= n) continue;
      for (int b = 0; b < kRows; ++b) {
        if (kind == Activation::rank) {
          out.column(c + k)[row + b] = rank[k][b];
        } else {
          out.column(static_cast<int>(rank[k][b]))[row + b] = static_cast<float>(c + k);
        }
      }
    }
  }
}

// Applies a row-wise activation to the rows of some columns.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void activate_rows(W& w, Activation kind, Columns x) {
  constexpr int kRows = W::Team::kRows;
  const Scratch scratch(w.arena);
  const Columns out = w.take_columns(x.n_columns);
  if (w.arena.failed) return;
  const int n = x.n_columns;
  for_rows(w.team, w.n_rows, [&](int row) {
    const auto value = [&](int c, int b) { return x.column(c)[row + b]; };
    if (kind == Activation::rank || kind == Activation::argsort) {
      return rank_rows<kRows>(kind, row, n, value, out);
    }
    float greatest[kRows];
    float sum[kRows];
    for (int b = 0; b < kRows; ++b) {
      greatest[b] = -3.4e38f;
      sum[b] = 0.0f;
    }
    for (int c = 0; c < n; ++c) {
      for (int b = 0; b < kRows; ++b) {
        greatest[b] = value(c, b) > greatest[b] ? value(c, b) : greatest[b];
      }
    }
    for (int c = 0; c < n; ++c) {
      for (int b = 0; b < kRows; ++b) {
        const float term = kind == Activation::softmax ? elementary::exp(value(c, b) - greatest[b])
                                                       : (value(c, b) == greatest[b] ? 1.0f : 0.0f);
        out.column(c)[row + b] = term;
        sum[b] += term;
      }
    }
    if (kind != Activation::softmax) return;
    for (int c = 0; c < n; ++c) {
      for (int b = 0; b < kRows; ++b) out.column(c)[row + b] /= sum[b];
    }
  });
  w.team.sync();
  copy(w, out, x);
}

// The sampled parameters of an activation.
struct ActivationDraw {
  Activation kind;
  float exponent;
};

template <class W>
CAUSEWAY_HOST_DEVICE_CALL ActivationDraw draw_activation(W& w, bool plain) {
  const int n_fixed = plain ? 8 : 4;
  const int type = choose(w, plain ? Choice::plain_activation : Choice::activation);
  ActivationDraw drawn{Activation::identity, 1.0f};
  constexpr Range kExponents{0.1f, 10.0f, true};
  if (type < n_fixed) {
    drawn.kind = static_cast<Activation>(choose(w, Choice::fixed_activation));
  } else if (type == n_fixed) {
    drawn = {Activation::relu_power, number(w, Number::relu_exponent, kExponents)};
  } else if (type == n_fixed + 1) {
    drawn = {Activation::signed_power, number(w, Number::power_exponent, kExponents)};
  } else if (type == n_fixed + 2) {
    drawn = {Activation::negative_power, number(w, Number::negative_exponent, kExponents)};
  } else {
    drawn = {Activation::integer_power,
             static_cast<float>(integer(w, Number::integer_exponent, 2, 6))};
  }
  note(w.team, "activation", static_cast<double>(drawn.kind));
  note(w.team, "exponent", drawn.exponent);
  return drawn;
}

// Standardise, scale about the value of a random row, activate, standardise; in place.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void random_activation(W& w, Columns x) {
  const ActivationDraw drawn = draw_activation(w, false);
  const float scale = number(w, Number::rescale, {1.0f, 10.0f, true});
  const std::uint32_t site = w.next_site();
  const bool by_rows = acts_on_rows(drawn.kind);
  note(w.team, "scale", scale);
  note(w.team, "row_site", site);
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    float* column = x.column(c);
    const Moments moments = moments_of(lanes, column, w.n_fit);
    const float inverse = 1.0f / (moments.deviation + 1e-4f);
    const int row = bounded(w.draws.bits(site, static_cast<std::uint32_t>(c)).word[0], w.n_fit);
    const float centre = (column[row] - moments.mean) * inverse;
    lanes.sync();
    lanes.each(w.n_rows,
               [&](int i) { column[i] = scale * ((column[i] - moments.mean) * inverse - centre); });
    if (by_rows) return;
    activate_column(lanes, drawn.kind, drawn.exponent, column, w.n_rows);
    const Moments after = moments_of(lanes, column, w.n_fit);  // each lane reads only what it wrote
    const float factor = 1.0f / (after.deviation + 1e-4f);
    lanes.each(w.n_rows, [&](int i) { column[i] = (column[i] - after.mean) * factor; });
  });
  w.team.sync();
  if (!by_rows) return;
  activate_rows(w, drawn.kind, x);
  standardise(w, x);
}

}  // namespace causeway::prior
