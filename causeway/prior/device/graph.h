// A dataset of the graph family: drawing the plan and evaluating its nodes in order.
#pragma once

#include "causeway/prior/device/node.h"

namespace causeway::prior {

inline constexpr int kMostGraphs = 64;  // attempts until features and target share an ancestor

// Draws the data-independent part of a plan. `n_categories` is the target's, 0 for a numeric
// target.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_plan(W& w, const GraphOptions& options, int n_features,
                                         int n_categories, GraphPlan& plan) {
  draw_choices(w, options.even_choices, plan.choices);
  if (w.team.rank() == 0) {
    PlanDraws d{w.draws, kPlanSite, &plan.choices};
    plan.n_features = n_features;
    draw_categories(d, options, plan);
    plan.columns[n_features].n_categories = static_cast<std::int16_t>(n_categories);
    for (int round = 0; round < kMostGraphs; ++round) {
      plan.n_nodes = integer(d, Number::n_nodes, options.min_nodes, options.max_nodes + 1, true);
      draw_edges(d, options.edge_offset, plan);
      place_columns(d, plan, 0, n_features);
      place_columns(d, plan, n_features, n_features + 1);
      const std::uint32_t of_features = ancestors_of(plan, 0, n_features);
      const std::uint32_t of_target = ancestors_of(plan, n_features, n_features + 1);
      plan.needed = of_features | of_target;
      if (!options.connected || (of_features & of_target) != 0) break;
    }
    for (int c = 0; c <= n_features; ++c) draw_converter(d, plan.columns[c]);
    for (int node = 0; node < plan.n_nodes; ++node) {
      plan.latent_width[node] =
          static_cast<std::int16_t>(integer(d, Number::node_width, 1, 32, true));
    }
  }
  w.team.sync();
}

// Number of values of a node; those that columns are read from come first.
CAUSEWAY_HOST_DEVICE_CALL int width_of(const GraphPlan& plan, int node) {
  int width = plan.latent_width[node];
  for (int c = 0; c <= plan.n_features; ++c) {
    if (plan.columns[c].node == node) width += plan.columns[c].width;
  }
  return width;
}

// Approximate work per row of the functions of a plan.
CAUSEWAY_HOST_DEVICE float cost_of(const GraphPlan& plan) {
  constexpr int kAlways = 100;  // fixed cost, in columns
  float cost = 0.0f;
  for (int node = 0; node < plan.n_nodes; ++node) {
    if ((plan.needed >> node & 1u) == 0) continue;
    int n_in = 0;
    for (int parent = 0; parent < node; ++parent) {
      if ((plan.parents[node] >> parent & 1u) != 0) n_in += width_of(plan, parent);
    }
    const int n_out = width_of(plan, node);
    cost += static_cast<float>(n_in + kAlways) * static_cast<float>(n_out + kAlways);
  }
  return cost;
}

// Evaluates the columns of a plan, the target last. `row_error` may be nullptr.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_plan(W& w, const GraphPlan& plan,
                                             const GraphOptions& options, const OtherWorld& other,
                                             Columns out, float* row_error) {
  Columns nodes[kMostNodes];
  w.choices = &plan.choices;
  for (int node = 0; node < plan.n_nodes; ++node) {
    if ((plan.needed >> node & 1u) == 0) continue;
    if (w.team.stops()) w.arena.failed = true;
    nodes[node] = w.take_columns(width_of(plan, node));
    if (w.arena.failed) return;
    note(w.team, "node", node);
    evaluate_node(w, plan, options, other, node, nodes, nodes[node], out, row_error);
    if (w.arena.failed) return;
  }
}

}  // namespace causeway::prior
