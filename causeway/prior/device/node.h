// One node of a graph: its values from its parents (or from random points), and the columns read
// from it.
#pragma once

#include "causeway/prior/device/points.h"
#include "causeway/prior/device/scm.h"

namespace causeway::prior {

enum class Aggregation : std::uint8_t { sum, product, greatest, log_sum_exp };

// do(column = value) in the second world; column -1 for none.
struct Intervention {
  int column = -1;
  float value = 0.0f;  // in the units of the output column: a number, or a category
};

// The second world, if there is one.
struct OtherWorld {
  bool wanted = false;
  bool noiseless = false;  // no noise is added; sampled categories become the most likely one
  Intervention intervention;
};

template <class W>
CAUSEWAY_HOST_DEVICE bool in_other_world(const W& w, int row) {
  return row >= w.n_fit;
}

// Combines the contribution of one parent with the others'.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void aggregate(W& w, Aggregation how, Columns more, Columns out) {
  const auto joined = [&](int c, int row) {
    const float a = out.column(c)[row];
    const float value = more.column(c)[row];
    const float high = a > value ? a : value;
    const float low = a > value ? value : a;
    switch (how) {
      case Aggregation::sum: return a + value;
      case Aggregation::product: return a * value;
      case Aggregation::greatest: return high;
      default: return high + elementary::log(1.0f + elementary::exp(low - high));
    }
  };
  map_cells(w, out.n_columns, joined,
            [&](int c, int row, float value) { out.column(c)[row] = value; });
}

// The node's values as a random function of its parents: of all concatenated, or of each and then
// aggregated.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void function_of_parents(W& w, std::uint32_t parents,
                                                   const Columns* nodes, Columns out) {
  const Scratch scratch(w.arena);
  const bool joined = choose(w, Choice::parents) == 1;
  note(w.team, "aggregated", joined);
  if (joined) {
    const auto how = static_cast<Aggregation>(choose(w, Choice::aggregation));
    note(w.team, "aggregation", static_cast<double>(how));
    const Columns more = w.take_columns(out.n_columns);
    bool first = true;
    for (int node = 0; node < kMostNodes; ++node) {
      if ((parents >> node & 1u) == 0) continue;
      if (w.arena.failed) return;
      note(w.team, "parent", node);
      random_function(w, nodes[node], first ? out : more);
      if (w.arena.failed) return;
      if (!first) aggregate(w, how, more, out);
      first = false;
    }
    return;
  }
  int n_in = 0;
  for (int node = 0; node < kMostNodes; ++node) {
    if ((parents >> node & 1u) != 0) n_in += nodes[node].n_columns;
  }
  const Columns all = w.take_columns(n_in);
  if (w.arena.failed) return;
  int at = 0;
  for (int node = 0; node < kMostNodes; ++node) {
    if ((parents >> node & 1u) == 0) continue;
    copy(w, nodes[node], all.slice(at, nodes[node].n_columns));
    at += nodes[node].n_columns;
  }
  random_function(w, all, out);
}

// Converts node values to a numeric column, optionally warped.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void convert_number(W& w, const ColumnPlan& plan, bool warp_node,
                                              const Intervention& forced, float* values,
                                              float* column) {
  const float a = number(w, Number::kumaraswamy_a, {0.2f, 5.0f, true});
  const float b = number(w, Number::kumaraswamy_b, {0.2f, 5.0f, true});
  const bool warped = plan.converter == Converter::kumaraswamy;
  const Scratch scratch(w.arena);
  float* ends = w.arena.take(2);
  if (w.arena.failed) return;
  w.team.columns(warped ? 2 : 0, [&](int end, const auto& lanes) {
    const float sign = end == 0 ? -1.0f : 1.0f;
    const float found = lanes.greatest(w.n_fit, -3.4e38f, [&](int i) { return sign * values[i]; });
    lanes.each(1, [&](int) { ends[end] = sign * found; });
  });
  w.team.sync();
  const float low = warped ? ends[0] : 0.0f;
  const float range = warped ? ends[1] - low : 0.0f;
  const auto warp = [&](float x) {
    const float unit = clamped((x - low) / (range + 1e-30f), 0.0f, 1.0f);
    return 1.0f - power(at_least(1.0f - power(unit, a), 0.0f), b);
  };
  for_each(w.team, w.row_end(), [&](int i) {
    const float x = values[i];
    float value = warped ? warp(x) : x;
    float kept = warped && warp_node ? warp(x) : x;
    if (forced.column >= 0 && in_other_world(w, i)) {
      value = forced.value;
      kept = value;
      if (warped && !warp_node) {  // inverts the warp
        const float inner = at_least(1.0f - power(at_least(1.0f - value, 0.0f), 1.0f / b), 0.0f);
        kept = elementary::fma(power(inner, 1.0f / a), range, low);
      }
    }
    column[i] = value;
    values[i] = kept;
  });
  w.team.sync();
  note(w.team, "warped", warped);
  note(w.team, "kumaraswamy_a", a);
  note(w.team, "kumaraswamy_b", b);
}

// Each row takes the category of the nearest of n random rows.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void convert_by_neighbours(W& w, const ColumnPlan& plan,
                                                     const Intervention& forced, Columns values,
                                                     float* column) {
  const int n = plan.n_categories < w.n_fit ? plan.n_categories : w.n_fit;
  const Scratch scratch(w.arena);
  float* centres = w.arena.take(static_cast<std::int64_t>(n) * values.n_columns);
  const bool by_function = plan.converter == Converter::neighbour_function;
  const Columns discrete = w.take_columns(by_function ? values.n_columns : 0);
  if (w.arena.failed) return;
  random_rows(w, values, n, centres);
  const float p = number(w, Number::distance_power, {0.5f, 4.0f, true});
  const bool is_forced = forced.column >= 0;
  note(w.team, "category_p", p);
  note_array(w.team, "category_centres", centres, static_cast<std::int64_t>(n) * values.n_columns);
  nearest_centres(w, values, centres, n, p, [&](int row, int b, int found) {
    const bool set = is_forced && in_other_world(w, row + b);
    const int k =
        set ? static_cast<int>(clamped(forced.value, 0.0f, static_cast<float>(n - 1))) : found;
    column[row + b] = static_cast<float>(k);
    if (plan.converter == Converter::neighbour && !set) return;
    for (int c = 0; c < values.n_columns; ++c) {
      float* to = (by_function ? discrete : values).column(c) + row + b;
      *to = plan.converter == Converter::neighbour_number ? static_cast<float>(k)
                                                          : centres[k * values.n_columns + c];
    }
  });
  if (by_function) cheap_function(w, discrete, values);
}

// Samples the category of every row from a softmax of the values or, without noise, takes the most
// likely one. `row_error` receives the probability that the most likely category is wrong.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void convert_by_softmax(W& w, const ColumnPlan& plan,
                                                  const OtherWorld& other, bool forced,
                                                  Columns values, float* column, float* row_error) {
  const int n = plan.n_categories;
  const Scratch scratch(w.arena);
  W of_categories = with_rows(w, n);
  const bool by_centre = plan.converter == Converter::softmax_centre;
  const Columns centres = of_categories.take_columns(by_centre ? n : 0);
  w.arena.used = of_categories.arena.used;
  const Columns logits = w.take_columns(n);
  float* bias = w.arena.take(n);
  if (w.arena.failed || of_categories.arena.failed) {
    w.arena.failed = true;
    return;
  }
  if (by_centre) {
    of_categories.arena = w.arena;
    random_points(of_categories, centres);
    take_back(w, of_categories);
    if (w.arena.failed) return;
  }
  const std::uint32_t site = w.next_site();
  const std::uint32_t draw_site = w.next_site();
  const float scale = number(w, Number::softmax_scale, {0.1f, 10.0f, true});
  w.team.columns(1, [&](int, const auto& lanes) {
    draw_weights(lanes, w.draws, site, 0, n, [&](int i) -> float& { return bias[i]; });
    lanes.each(n, [&](int i) { bias[i] = elementary::log(bias[i] + 1e-4f); });
  });
  copy(w, values, logits);
  standardise(w, logits);
  note(w.team, "softmax_scale", scale);
  note(w.team, "draw_site", draw_site);
  note_array(w.team, "softmax_bias", bias, n);
  note_array(w.team, "embeddings", centres.data,
             static_cast<std::int64_t>(centres.n_columns) * centres.stride);
  for_each(w.team, w.row_end(), [&](int row) {
    float greatest = -3.4e38f;
    int likeliest = 0;
    for (int c = 0; c < n; ++c) {
      float* logit = logits.column(c) + row;
      *logit = elementary::fma(scale, *logit, bias[c]);
      if (!is_finite(*logit)) *logit = 0.0f;
      likeliest = *logit > greatest ? c : likeliest;
      greatest = *logit > greatest ? *logit : greatest;
    }
    float total = 0.0f;
    for (int c = 0; c < n; ++c) {
      total += elementary::exp(logits.column(c)[row] - greatest);
      logits.column(c)[row] = total;
    }
    const float place = w.draws.uniform(draw_site, w.drawn_row(row)) * total;
    int k = 0;
    while (k < n - 1 && place >= logits.column(k)[row]) ++k;
    if (in_other_world(w, row)) {
      if (other.noiseless) k = likeliest;
      if (forced) {
        k = static_cast<int>(clamped(other.intervention.value, 0.0f, static_cast<float>(n - 1)));
      }
    }
    column[row] = static_cast<float>(k);
    if (row_error != nullptr) row_error[row] = 1.0f - 1.0f / total;
    if (plan.converter == Converter::softmax) return;
    for (int c = 0; c < n; ++c) {
      values.column(c)[row] = by_centre ? centres.column(c)[k] : static_cast<float>(k);
    }
  });
  w.team.sync();
}

// Evaluates node `node` of a plan. `nodes` holds the values of earlier nodes. Columns read from it
// are written to `out`, the target to its last column.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_node(W& w, const GraphPlan& plan,
                                             const GraphOptions& options, const OtherWorld& other,
                                             int node, const Columns* nodes, Columns values,
                                             Columns out, float* row_error) {
  if (plan.parents[node] == 0) {
    random_points(w, values);
  } else {
    function_of_parents(w, plan.parents[node], nodes, values);
  }
  if (w.arena.failed) return;
  const Scratch scratch(w.arena);
  float* weights = w.arena.take(values.n_columns);
  const std::uint32_t site = w.next_site();
  if (w.arena.failed) return;
  w.team.columns(1, [&](int, const auto& lanes) {
    draw_weights(lanes, w.draws, site, 0, values.n_columns,
                 [&](int i) -> float& { return weights[i]; });
  });
  w.team.sync();
  standardise(w, values, weights);
  normalise_length(w, values);
  int first = 0;
  for (int c = 0; c <= plan.n_features; ++c) {
    const ColumnPlan& column = plan.columns[c];
    if (column.node != node) continue;
    if (w.arena.failed) return;
    const bool is_forced = other.wanted && other.intervention.column == c;
    const Intervention forced = is_forced ? other.intervention : Intervention{};
    const Columns slice = values.slice(first, column.width);
    first += column.width;
    note(w.team, "column", c);
    if (column.n_categories == 0) {
      convert_number(w, column, options.warp_node_values, forced, slice.data, out.column(c));
    } else if (is_softmax(column.converter)) {
      convert_by_softmax(w, column, other, is_forced, slice, out.column(c),
                         c == plan.n_features ? row_error : nullptr);
    } else {
      convert_by_neighbours(w, column, forced, slice, out.column(c));
    }
  }
  if (w.arena.failed) return;
  float noise = 0.0f;
  if (options.noise) noise = number(w, Number::noise, {1e-5f, 1.0f, true});
  const std::uint32_t noise_site = w.next_site();
  const float importance = number(w, Number::node_importance, {0.1f, 10.0f, true});
  note(w.team, "noise", noise);
  note(w.team, "importance", importance);
  const auto weighed = [&](int c, int row) {
    float value = values.column(c)[row];
    if (options.noise && !(other.noiseless && in_other_world(w, row))) {
      const float step =
          w.draws.normal(noise_site, w.drawn_row(row), static_cast<std::uint32_t>(c));
      value = elementary::fma(noise, step, value);
    }
    return value * importance;
  };
  map_cells<2>(w, values.n_columns, weighed,
               [&](int c, int row, float value) { values.column(c)[row] = value; });
}

}  // namespace causeway::prior
