// A dataset of the tree family: causes are fed through layers of random trees: oblivious ones, or
// small forests whose nodes each have their own column and threshold row.
#pragma once

#include "causeway/prior/device/mlp.h"

namespace causeway::prior {

struct TreePlan {
  int n_layers;
  int n_hidden;
  bool oblivious;
  int depth;
  int n_trees;
};

CAUSEWAY_HOST_DEVICE_CALL void draw_tree_plan(const Draws& draws, TreePlan& plan) {
  PlanDraws d{draws, kPlanSite + 0x1000u, nullptr};
  plan.n_layers = 1 + d.below(2);
  plan.n_hidden = 3 + d.below(7);
  plan.oblivious = d.below(2) == 1;
  // min(2 + int(exponential of mean 2), 4), and one less for trees.
  const float longer = -2.0f * elementary::log(d.uniform());
  const float more = -2.0f * elementary::log(d.uniform());
  plan.depth = longer >= 2.0f ? 4 : 2 + static_cast<int>(longer);
  plan.n_trees = more >= 3.0f ? 4 : 1 + static_cast<int>(more);
}

// A forest fitted to noise: a node splits a random column at the value of one of its rows, and a
// leaf of n rows is the mean of n normal values. Outputs the sum of the trees.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void noise_forest(W& w, const TreePlan& plan, Columns x, Columns out) {
  const int n_leaves = 1 << plan.depth;
  const Scratch scratch(w.arena);
  auto* place = reinterpret_cast<std::int32_t*>(w.arena.take(w.stride));
  auto* columns = reinterpret_cast<std::int32_t*>(w.arena.take(n_leaves));
  float* thresholds = w.arena.take(n_leaves);
  auto* counts = reinterpret_cast<std::int32_t*>(w.arena.take(n_leaves));
  if (w.arena.failed) return;
  for (int tree = 0; tree < plan.n_trees; ++tree) {
    const std::uint32_t site = w.next_site();
    const std::uint32_t row_site = w.next_site();
    const std::uint32_t leaf_site = w.next_site();
    note(w.team, "leaf_site", leaf_site);
    for_each(w.team, w.row_end(), [&](int row) { place[row] = 0; });
    w.team.sync();
    for (int level = 0; level < plan.depth; ++level) {
      const int n_nodes = 1 << level;
      for_each(w.team, n_nodes, [&](int node) {
        const auto at = static_cast<std::uint32_t>(n_nodes + node);
        const int column = bounded(w.draws.bits(site, at).word[0], x.n_columns);
        std::uint32_t least = 0xffffffffu;
        int found = 0;  // the row of this node with the smallest random number
        for (int row = 0; row < w.n_fit; ++row) {
          if (place[row] != node) continue;
          const std::uint32_t drawn =
              w.draws.bits(row_site, static_cast<std::uint32_t>(row), at).word[0];
          found = drawn < least ? row : found;
          least = drawn < least ? drawn : least;
        }
        columns[node] = column;
        thresholds[node] = x.column(column)[found];
      });
      w.team.sync();
      note_array(w.team, "split_columns", reinterpret_cast<const float*>(columns), n_nodes);
      note_array(w.team, "thresholds", thresholds, n_nodes);
      for_each(w.team, w.row_end(), [&](int row) {
        const int node = place[row];
        place[row] = 2 * node + (x.column(columns[node])[row] > thresholds[node] ? 1 : 0);
      });
      w.team.sync();
    }
    for_each(w.team, n_leaves, [&](int leaf) { counts[leaf] = 0; });
    w.team.sync();
    for_each(w.team, w.n_fit, [&](int row) { w.team.count(&counts[place[row]]); });
    w.team.sync();
    for_each(w.team, w.row_end(), [&](int row) {
      const auto leaf = static_cast<std::uint32_t>(place[row]);
      const int n = counts[leaf] > 0 ? counts[leaf] : 1;
      const float scale = 1.0f / elementary::square_root(static_cast<float>(n));
      for (int o = 0; o < out.n_columns; ++o) {
        const float value = scale * w.draws.normal(leaf_site, leaf, static_cast<std::uint32_t>(o));
        float* to = out.column(o) + row;
        *to = tree == 0 ? value : *to + value;
      }
    });
    w.team.sync();
  }
}

// Evaluates features and target (last column).
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_tree(W& w, const TreePlan& plan, const MlpPlan& causes,
                                             const OtherWorld& other, Columns out) {
  const int n_features = causes.n_features;
  const Columns x = out.slice(0, n_features);
  draw_causes(w, causes, x);
  const Intervention forced = other.wanted ? other.intervention : Intervention{};
  if (forced.column >= 0 && forced.column < n_features) {
    force_unit(w, forced.value, x.column(forced.column));
  }
  const Columns hidden[2] = {w.take_columns(plan.n_hidden), w.take_columns(plan.n_hidden)};
  float* zeros = w.arena.take(plan.n_hidden);
  if (w.arena.failed) return;
  for_each(w.team, plan.n_hidden, [&](int i) { zeros[i] = 0.0f; });
  w.team.sync();
  Columns from = x;
  for (int layer = 0; layer <= plan.n_layers; ++layer) {
    const Columns to = layer == plan.n_layers ? out.slice(n_features, 1) : hidden[layer % 2];
    if (plan.oblivious) {
      trees_function(w, from, to);
    } else {
      noise_forest(w, plan, from, to);
    }
    if (w.arena.failed) return;
    // `from` is reused as scratch.
    if (layer > 0) add_noise(w, causes, other, true, zeros, from.data, to);
    from = to;
  }
}

}  // namespace causeway::prior
