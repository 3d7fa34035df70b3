// One dataset from its seed and number to its rows: attempts, until one passes the filters.
#pragma once

#include "causeway/prior/device/forest.h"
#include "causeway/prior/device/graph.h"
#include "causeway/prior/device/mlp.h"
#include "causeway/prior/device/shape.h"
#include "causeway/prior/device/simple.h"
#include "causeway/prior/device/tidy.h"
#include "causeway/prior/device/tree.h"

namespace causeway::prior {

// What the team shares besides its arena.
struct Shared {
  GraphPlan graph;
  MlpPlan mlp;
  TreePlan tree;
  std::int16_t feature_order[kMostFeatures];  // the columns that stay, as they are handed out
  std::int16_t label_order[64];
  float boundaries[64];
  Affine* spreads;  // of the columns before they were standardised, or nullptr
  int n_features;
  float bayes_error;
};

// Where a dataset goes: rows of `row_stride` features, and a target each.
struct DatasetOut {
  float* x;
  float* y;
  std::int64_t row_stride;
  float* other_x = nullptr;  // the second world's
  float* other_y = nullptr;
};

template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_simple(W& w, int n_features, const OtherWorld& other,
                                               Columns out) {
  const Intervention forced = other.wanted ? other.intervention : Intervention{};
  for_each(w.team, w.row_end(), [&](int row) {
    float sum = 0.0f;
    for (int c = 0; c < n_features; c += 4) {
      float values[4];
      simple_features(w.draws, static_cast<int>(w.drawn_row(row)), c / 4, values);
      for (int k = 0; k < 4 && c + k < n_features; ++k) {
        float value = values[k];
        if (forced.column == c + k && in_other_world(w, row)) value = forced.value;
        out.column(c + k)[row] = value;
        sum = add_term(simple_term(w.draws, c + k), value, sum);
      }
    }
    out.column(n_features)[row] = sum;
  });
  w.team.sync();
}

// Some columns of the mlp and tree families become categories: how many random rows' values lie
// below.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void categorise_columns(W& w, Columns x) {
  const Bits128 coin = w.draws.bits(w.next_site(), 0);
  const std::uint32_t site = w.next_site();
  const std::uint32_t row_site = w.next_site();
  if (open_uniform(coin.word[0]) >= 0.2f) return;
  const float share = open_uniform(coin.word[1]);
  constexpr int kMost = 64;
  w.team.columns(x.n_columns, [&](int c, const auto& lanes) {
    const auto at = static_cast<std::uint32_t>(c);
    const Bits128 bits = w.draws.bits(site, at);
    if (open_uniform(bits.word[0]) >= share) return;
    note(w.team, "categorised", c);
    const float drawn = -10.0f * elementary::log(open_uniform(bits.word[1]));  // Gamma(1, 10)
    int n = static_cast<int>(elementary::nearest(drawn));
    n = n < 2 ? 2 : (n > kMost ? kMost : n);
    float* column = x.column(c);
    float bounds[kMost];
    for (int k = 0; k < n - 1; ++k) {
      const Bits128 row = w.draws.bits(row_site, at, static_cast<std::uint32_t>(k));
      bounds[k] = column[bounded(row.word[0], w.n_fit)];
    }
    note_array(w.team, "bounds", bounds, n - 1);
    const bool permuted = open_uniform(bits.word[2]) < 0.7f;
    const bool reversed = open_uniform(bits.word[3]) < 0.5f;
    Draws labels = w.draws;
    labels.key0 ^= bits.word[1];
    const Order order(labels, site, n);
    lanes.meet();
    lanes.each(w.row_end(), [&](int i) {
      int below = 0;
      for (int k = 0; k < n - 1; ++k) below += column[i] > bounds[k] ? 1 : 0;
      if (permuted) below = order(below);
      if (reversed) below = n - 1 - below;
      column[i] = static_cast<float>(below);
    });
  });
  w.team.sync();
}

// A numeric target becomes classes by boundaries: values of random rows, normal numbers, or even
// quantiles.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void classify_target(W& w, Shared& shared, bool balanced, bool by_rank,
                                               int n_classes, float* target) {
  const std::uint32_t site = w.next_site();
  if (balanced) {
    const Scratch scratch(w.arena);
    auto* order = reinterpret_cast<std::uint32_t*>(w.arena.take(w.team.order_space(w.n_fit)));
    if (w.arena.failed) return;
    w.team.order_of(target, w.n_fit, order);
    for_each(w.team, n_classes - 1, [&](int k) {
      const auto place = static_cast<int>(static_cast<std::int64_t>(k + 1) * w.n_fit / n_classes);
      shared.boundaries[k] = target[order[place - 1]];
    });
  } else {
    for_each(w.team, n_classes - 1, [&](int k) {
      const auto at = static_cast<std::uint32_t>(k);
      shared.boundaries[k] = by_rank ? target[bounded(w.draws.bits(site, at).word[0], w.n_fit)]
                                     : w.draws.normal(site, at);
    });
  }
  w.team.sync();
  for_each(w.team, w.row_end(), [&](int row) {
    int below = 0;
    for (int k = 0; k < n_classes - 1; ++k) below += target[row] > shared.boundaries[k] ? 1 : 0;
    target[row] = static_cast<float>(below);
  });
  w.team.sync();
}

// A random order of n small numbers, by one thread.
CAUSEWAY_HOST_DEVICE_CALL void shuffle(const Draws& draws, std::uint32_t site, std::int16_t* values,
                                       int n) {
  for (int i = n - 1; i > 0; --i) {
    const int j = bounded(draws.bits(site, static_cast<std::uint32_t>(i)).word[0], i + 1);
    const std::int16_t moved = values[i];
    values[i] = values[j];
    values[j] = moved;
  }
}

// Whether both sides of the split know the same classes, and more than one, when rows come in an
// order.
template <class W, class Place>
CAUSEWAY_HOST_DEVICE_CALL bool split_is_valid(const W& w, int n_train, const float* target,
                                              const Place& place) {
  std::uint64_t train = 0;
  std::uint64_t test = 0;
  for_each(w.team, w.n_fit, [&](int i) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<int>(target[place(i)]);
    if (i < n_train)
      train |= bit;
    else
      test |= bit;
  });
  train = w.team.any_bits(train);
  test = w.team.any_bits(test);
  return train == test && (train & (train - 1)) != 0;
}

inline constexpr int kMostRepairs = 10;

// The features and the target of an attempt, tidied, as columns; the target is the last.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict make_columns(W& w, const Recipe& recipe,
                                               const DatasetShape& shape, const OtherWorld& other,
                                               Shared& shared, Columns out, float* unlikely) {
  const int n_features = shape.n_features;
  const bool is_graph = shape.family == Family::graph;
  if (is_graph) {
    draw_plan(w, recipe.graph, n_features, shape.n_classes, shared.graph);
    evaluate_plan(w, shared.graph, recipe.graph, other, out, unlikely);
  } else if (shape.family == Family::simple) {
    evaluate_simple(w, n_features, other, out);
  } else {
    w.team.columns(2, [&](int part, const auto& lanes) {
      if (part == 1) return draw_mlp_kinds(lanes, w.draws, shared.mlp);
      if (!lanes.leads()) return;
      draw_mlp_plan(w.draws, n_features, shared.mlp);
      if (shape.family == Family::tree) draw_tree_plan(w.draws, shared.tree);
    });
    w.team.sync();
    if (shape.family == Family::mlp)
      evaluate_mlp(w, shared.mlp, other, out);
    else
      evaluate_tree(w, shared.tree, shared.mlp, other, out);
    if (!w.arena.failed) categorise_columns(w, out.slice(0, n_features));
  }
  if (w.arena.failed) return Verdict::too_wide;
  bool strange = false;
  for_each(w.team, w.n_rows, [&](int row) {
    for (int c = 0; c <= n_features; ++c) strange |= !is_finite(out.column(c)[row]);
  });
  if (w.team.any(strange)) return Verdict::not_finite;
  const bool numeric_target = !is_graph || shape.n_classes == 0;
  if (shape.family == Family::simple && shape.n_classes == 0) return Verdict::accepted;
  w.team.columns(n_features + (numeric_target ? 1 : 0), [&](int c, const auto& lanes) {
    if (shape.family == Family::simple && c < n_features) return;
    const Affine spread = tidy_column(w, lanes, out.column(c));
    if (shared.spreads != nullptr) lanes.each(1, [&](int) { shared.spreads[c] = spread; });
  });
  w.team.sync();
  if (numeric_target && shape.n_classes > 0) {
    const bool by_rank = shape.family == Family::simple || shared.mlp.by_rank;
    classify_target(w, shared, recipe.balanced, by_rank, shape.n_classes, out.column(n_features));
  }
  return w.arena.failed ? Verdict::too_wide : Verdict::accepted;
}

// Which columns stay, and in what order they and the labels are handed out.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict arrange(W& w, const Recipe& recipe, const DatasetShape& shape,
                                          Shared& shared, Columns columns) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t label_site = w.next_site();
  const Scratch scratch(w.arena);
  float* varies = w.arena.take(shape.n_features);
  if (w.arena.failed) return Verdict::too_wide;
  w.team.columns(shape.n_features, [&](int c, const auto& lanes) {
    const float* column = columns.column(c);
    const float high = lanes.greatest(w.n_fit, -3.4e38f, [&](int i) { return column[i]; });
    const float low = lanes.greatest(w.n_fit, -3.4e38f, [&](int i) { return -column[i]; });
    lanes.each(1, [&](int) { varies[c] = high > -low ? 1.0f : 0.0f; });
  });
  w.team.sync();
  if (w.team.rank() == 0) {
    std::int16_t order[kMostFeatures];
    for (int c = 0; c < shape.n_features; ++c) order[c] = static_cast<std::int16_t>(c);
    if (shape.family != Family::simple) shuffle(w.draws, site, order, shape.n_features);
    shared.n_features = 0;
    for (int c = 0; c < shape.n_features; ++c) {
      if (!recipe.drop_constant || varies[order[c]] != 0.0f) {
        shared.feature_order[shared.n_features++] = order[c];
      }
    }
    for (int k = 0; k < shape.n_classes; ++k) shared.label_order[k] = static_cast<std::int16_t>(k);
    shuffle(w.draws, label_site, shared.label_order, shape.n_classes);
  }
  w.team.sync();
  return shared.n_features == 0 ? Verdict::no_features : Verdict::accepted;
}

// Leaves cells out (NaN): by chance, where the column's own value is high, or where another's is.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void drop_cells(W& w, const Recipe& recipe, int n_features, float* x,
                                          std::int64_t row_stride) {
  const std::uint32_t site = w.next_site();
  const std::uint32_t cell_site = w.next_site();
  if (recipe.missing_high <= 0.0f) return;
  const Bits128 common = w.draws.bits(site, 0, 0);
  const float rate = elementary::fma(recipe.missing_high - recipe.missing_low,
                                     open_uniform(common.word[0]), recipe.missing_low);
  const auto how = static_cast<MissingBy>(1 + bounded(common.word[1], 3));
  // A feature's cells go by the values of one that comes later in this order, before those go.
  for_each(w.team, w.n_fit, [&](int row) {
    float* values = x + row * row_stride;
    // Other worlds miss the same cells.
    float* others = w.n_rows > w.n_fit ? values + w.n_fit * row_stride : nullptr;
    for (int f = 0; f < n_features; ++f) {
      const auto at = static_cast<std::uint32_t>(f);
      const float u = w.draws.uniform(cell_site, static_cast<std::uint32_t>(row), at);
      // Twice as likely at a high value as on average; the logistic function has a mean of about
      // 1/2.
      float likely = rate;
      if (how == MissingBy::value) likely = 2.0f * rate * sigmoid_of(2.0f * values[f]);
      if (how == MissingBy::other_column && n_features > 1) {
        const int later = f + 1 < n_features ? f + 1 : 0;
        if (later > f) likely = 2.0f * rate * sigmoid_of(2.0f * values[later]);
      }
      if (u >= likely) continue;
      values[f] = elementary::from_bits(0x7fc00000u);
      if (others != nullptr) others[f] = values[f];
    }
  });
  w.team.sync();
}

// One attempt; what passes is written to `out`.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict attempt_dataset(W& w, const Recipe& recipe,
                                                  const DatasetShape& shape,
                                                  const OtherWorld& other, Shared& shared,
                                                  const DatasetOut& out) {
  const int n_columns = shape.n_features + 1;
  const Columns columns = w.take_columns(n_columns);
  float* unlikely = w.arena.take(w.stride);
  if (w.arena.failed) return Verdict::too_wide;
  for_each(w.team, w.stride, [&](int row) { unlikely[row] = 0.0f; });
  w.team.sync();
  const std::int64_t mark = w.arena.used;
  Verdict verdict = make_columns(w, recipe, shape, other, shared, columns, unlikely);
  w.arena.used = mark;
  if (verdict != Verdict::accepted) return verdict;
  verdict = arrange(w, recipe, shape, shared, columns);
  if (verdict != Verdict::accepted) return verdict;
  const float* target = columns.column(shape.n_features);
  const bool classes = shape.n_classes > 0;
  const std::uint32_t first_repair = w.site;
  w.site += kMostRepairs;
  int repair = 0;  // 0: rows as they are
  if (classes && recipe.check_classes) {
    bool valid = split_is_valid(w, shape.n_train, target, [](int i) { return i; });
    while (!valid && repair < kMostRepairs) {
      const Order order(w.draws, first_repair + static_cast<std::uint32_t>(repair), w.n_fit);
      valid = split_is_valid(w, shape.n_train, target, order);
      ++repair;
    }
    if (!valid) return Verdict::bad_classes;
  }
  const Order order(w.draws, first_repair + static_cast<std::uint32_t>(repair > 0 ? repair - 1 : 0),
                    w.n_fit);
  const int n_features = shared.n_features;
  const int padded = (n_features + kFeaturePadding - 1) / kFeaturePadding * kFeaturePadding;
  float* x = w.arena.take(static_cast<std::int64_t>(w.n_rows) * padded);
  float* y = w.arena.take(w.n_rows);
  if (w.arena.failed) return Verdict::too_wide;
  for_each(w.team, w.n_rows, [&](int i) {
    const int world = in_other_world(w, i) ? w.n_fit : 0;
    const int from = repair > 0 ? world + order(i - world) : i;
    const float value = target[from];
    y[i] = classes ? static_cast<float>(shared.label_order[static_cast<int>(value)]) : value;
    float* row = x + static_cast<std::int64_t>(i) * padded;
    for (int f = 0; f < n_features; ++f) row[f] = columns.column(shared.feature_order[f])[from];
    for (int f = n_features; f < padded; ++f) row[f] = 0.0f;
  });
  w.team.columns(1, [&](int, const auto& lanes) {
    const float sum = lanes.sum(w.n_fit, [&](int i) { return unlikely[i]; });
    lanes.each(1, [&](int) { shared.bayes_error = sum / static_cast<float>(w.n_fit); });
  });
  w.team.sync();
  if (recipe.predictable || recipe.remove_trivial) {
    const ForestScore score =
        grow_forest(w, ForestData{x, y, w.n_fit, n_features, padded, shape.n_classes});
    if (w.arena.failed) return Verdict::too_wide;
    if (recipe.predictable && !is_predictable(score)) return Verdict::unpredictable;
    if (recipe.remove_trivial && is_trivial(score, recipe.trivial_share)) return Verdict::trivial;
  }
  drop_cells(w, recipe, n_features, x, padded);
  for_each(w.team, w.n_rows, [&](int i) {
    const bool second = in_other_world(w, i);
    const int at = second ? i - w.n_fit : i;
    const float* row = x + static_cast<std::int64_t>(i) * padded;
    float* to = (second ? out.other_x : out.x) + at * out.row_stride;
    for (int f = 0; f < out.row_stride; ++f) to[f] = f < n_features ? row[f] : 0.0f;
    (second ? out.other_y : out.y)[at] = y[i];
  });
  w.team.sync();
  return Verdict::accepted;
}

// Dataset `index`: attempts from `first_attempt` on until one passes, or none is left. `arena` has
// recipe.arena_floats.
template <class Team>
CAUSEWAY_HOST_DEVICE_CALL DatasetInfo make_dataset(const Team& team, const Recipe& recipe,
                                                   std::uint64_t seed, std::uint64_t index,
                                                   int first_attempt, const OtherWorld& other,
                                                   Shared& shared, float* arena,
                                                   const DatasetOut& out) {
  Draws draws = Draws::of(seed, index);
  const DatasetShape shape = shape_of(recipe, draws);
  DatasetInfo info{};
  info.n_rows = shape.n_rows;
  info.n_classes = shape.n_classes;
  info.n_train = shape.n_train;
  info.family = static_cast<std::int32_t>(shape.family);
  for (int attempt = first_attempt; attempt < recipe.max_attempts; ++attempt) {
    draws.attempt = static_cast<std::uint32_t>(attempt);
    const int n_rows = other.wanted ? 2 * shape.n_rows : shape.n_rows;
    Workspace<Team> w{team,         draws,  {arena, recipe.arena_floats},
                      shape.n_rows, n_rows, padded_rows(n_rows)};
    const Verdict verdict = attempt_dataset(w, recipe, shape, other, shared, out);
    info.attempts = attempt;
    info.verdict = static_cast<std::int32_t>(verdict);
    if (verdict == Verdict::accepted) break;
    ++info.rejected[info.verdict];
  }
  info.n_features = shared.n_features;
  info.bayes_error = shared.bayes_error;
  return info;
}

}  // namespace causeway::prior
