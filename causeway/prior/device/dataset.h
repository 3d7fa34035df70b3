// Generates one dataset from its seed and index: attempts until one passes the filters.
#pragma once

#include "causeway/prior/device/arrange.h"
#include "causeway/prior/device/discretise.h"
#include "causeway/prior/device/forest.h"
#include "causeway/prior/device/graph.h"
#include "causeway/prior/device/linear.h"
#include "causeway/prior/device/mlp.h"
#include "causeway/prior/device/skew.h"
#include "causeway/prior/device/rules.h"
#include "causeway/prior/device/simple.h"
#include "causeway/prior/device/tree.h"

namespace causeway::prior {

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

inline constexpr int kMostRepairs = 10;

// Generates the columns of an attempt; the target is the last.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_family(W& w, const Recipe& recipe,
                                               const DatasetShape& shape, const OtherWorld& other,
                                               Shared& shared, Columns out, float* row_error) {
  const int n_features = shape.n_features;
  if (shape.family == Family::graph) {
    draw_plan(w, recipe.graph, n_features, shape.n_classes, shared.graph);
    return evaluate_plan(w, shared.graph, recipe.graph, other, out, row_error);
  }
  if (shape.family == Family::rules) {
    if (w.team.rank() == 0) {
      draw_rules_plan(w.draws, n_features, shape.n_classes, shape.n_train, recipe.rules,
                      shared.rules);
    }
    w.team.sync();
    return evaluate_rules(w, shared.rules, shape.n_classes, other, out, row_error);
  }
  if (shape.family == Family::simple) return evaluate_simple(w, n_features, other, out);
  w.team.columns(2, [&](int part, const auto& lanes) {
    if (part == 1) return draw_mlp_kinds(lanes, w.draws, shared.mlp);
    if (!lanes.is_leader()) return;
    draw_mlp_plan(w.draws, n_features, shared.mlp);
    if (shape.family == Family::tree) draw_tree_plan(w.draws, shared.tree);
    if (shape.family == Family::linear) draw_linear_plan(w.draws, shared.linear);
  });
  w.team.sync();
  if (shape.family == Family::mlp)
    evaluate_mlp(w, shared.mlp, other, out);
  else if (shape.family == Family::tree)
    evaluate_tree(w, shared.tree, shared.mlp, other, out);
  else
    evaluate_linear(w, shared.linear, shared.mlp, other, out);
  if (!w.arena.failed) categorise_columns(w, out.slice(0, n_features));
}

// Generates and post-processes the columns of an attempt.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict make_columns(W& w, const Recipe& recipe,
                                               const DatasetShape& shape, const OtherWorld& other,
                                               Shared& shared, Columns out, float* row_error) {
  const int n_features = shape.n_features;
  evaluate_family(w, recipe, shape, other, shared, out, row_error);
  if (w.arena.failed) return Verdict::too_wide;
  bool non_finite = false;
  for_each(w.team, w.n_rows, [&](int row) {
    for (int c = 0; c <= n_features; ++c) non_finite |= !is_finite(out.column(c)[row]);
  });
  if (w.team.any(non_finite)) return Verdict::not_finite;
  const bool numeric_target = !shape.draws_classes();
  if (shape.family == Family::simple && shape.n_classes == 0) return Verdict::accepted;
  w.team.columns(n_features + (numeric_target ? 1 : 0), [&](int c, const auto& lanes) {
    if (shape.family == Family::simple && c < n_features) return;
    const Affine spread = tidy_column(w, lanes, out.column(c));
    if (shared.spreads != nullptr) lanes.each(1, [&](int) { shared.spreads[c] = spread; });
  });
  w.team.sync();
  if (shape.n_classes == 0 && recipe.skewed_share > 0.0f) {
    skew_target(w, recipe.skewed_share, out.column(n_features));
  }
  if (numeric_target && shape.n_classes > 0) {
    const bool by_rank = shape.family == Family::simple || shared.mlp.by_rank;
    const bool balanced =
        recipe.balanced || (shape.family == Family::linear && shared.linear.balanced);
    classify_target(w, shared, balanced, by_rank, shape.n_cut_classes(), out.column(n_features));
  }
  return w.arena.failed ? Verdict::too_wide : Verdict::accepted;
}

// One attempt; an accepted dataset is written to `out`.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL Verdict attempt_dataset(W& w, const Recipe& recipe,
                                                  const DatasetShape& shape,
                                                  const OtherWorld& other, Shared& shared,
                                                  const DatasetOut& out) {
  const int n_columns = shape.n_features + 1;
  const Columns columns = w.take_columns(n_columns);
  float* row_error = w.arena.take(w.stride);
  if (w.arena.failed) return Verdict::too_wide;
  for_each(w.team, w.stride, [&](int row) { row_error[row] = 0.0f; });
  w.team.sync();
  const std::int64_t mark = w.arena.used;
  Verdict verdict = make_columns(w, recipe, shape, other, shared, columns, row_error);
  w.arena.used = mark;
  if (verdict != Verdict::accepted) return verdict;
  verdict = arrange(w, recipe, shape, shared, columns);
  if (verdict != Verdict::accepted) return verdict;
  const float* target = columns.column(shape.n_features);
  const bool classes = shape.n_classes > 0;
  const std::uint32_t first_repair = w.site;
  w.site += kMostRepairs;
  int repair = 0;  // 0: original order
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
    const float sum = lanes.sum(w.n_fit, [&](int i) { return row_error[i]; });
    lanes.each(1, [&](int) { shared.bayes_error = sum / static_cast<float>(w.n_fit); });
  });
  w.team.sync();
  // A rule or a sum holds by construction; a small forest need not find it.
  const bool test_predictable =
      recipe.predictable && shape.family != Family::rules && shape.family != Family::linear;
  if (test_predictable || recipe.remove_trivial) {
    const ForestScore score =
        grow_forest(w, ForestData{x, y, w.n_fit, n_features, padded, shape.n_classes});
    if (w.arena.failed) return Verdict::too_wide;
    if (test_predictable && !is_predictable(score)) return Verdict::unpredictable;
    if (recipe.remove_trivial && is_trivial(score, recipe.trivial_share)) return Verdict::trivial;
  }
  drop_cells(w, recipe, n_features, x, padded);
  for_each(w.team, w.n_rows, [&](int i) {
    const bool second = in_other_world(w, i);
    const int at = second ? i - w.n_fit : i;
    const float* row = x + static_cast<std::int64_t>(i) * padded;
    float* to = (second ? out.counterfactual_x : out.x) + at * out.row_stride;
    for (int f = 0; f < out.row_stride; ++f) to[f] = f < n_features ? row[f] : 0.0f;
    (second ? out.counterfactual_y : out.y)[at] = y[i];
  });
  w.team.sync();
  return Verdict::accepted;
}

// Generates dataset `index`: attempts from `first_attempt` on until one is accepted or none is
// left. `arena` has recipe.arena_floats.
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
    if (verdict == Verdict::accepted || team.stops()) break;
    ++info.rejected[info.verdict];
  }
  info.n_features = shared.n_features;
  info.bayes_error = shared.bayes_error;
  return info;
}

}  // namespace causeway::prior
