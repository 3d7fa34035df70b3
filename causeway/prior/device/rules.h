// A dataset of the rules family: independent columns, and a target that follows a rule over a few
// of them. Cells are quantiles until the target is computed and then become categories or numbers.
#pragma once

#include "causeway/prior/device/node.h"
#include "causeway/prior/device/rules_plan.h"

namespace causeway::prior {

// How the quantiles of a column become values.
struct RuleColumn {
  float edges[kMostStates - 1];  // between categories, ascending
  int n_categories;              // 0: numeric
  int twin;                      // the driver whose quantile it copies, or -1
  float copied;                  // fraction of the rows in which it does
  bool mirrored;                 // numeric: large quantiles are small values
  float exponent;                // numeric: see value_of
  float tail;

  // Number of edges at or below the quantile.
  CAUSEWAY_HOST_DEVICE int category_of(float quantile) const {
    int category = 0;
    for (int k = 0; k < n_categories - 1; ++k) category += quantile >= edges[k] ? 1 : 0;
    return category;
  }
  // Tukey's lambda distribution: 1 is uniform, 0.14 almost normal, below 0 has heavy tails. A tail
  // below 1 makes it skewed.
  CAUSEWAY_HOST_DEVICE float value_of(float quantile) const {
    const float u = mirrored ? 1.0f - quantile : quantile;
    return (quick_power(u, exponent) - tail * quick_power(1.0f - u, exponent)) / exponent;
  }
};

// The number shown for a category of column c.
CAUSEWAY_HOST_DEVICE int code_of(const Draws& draws, std::uint32_t site, const RulesPlan& plan,
                                 int c, int n_categories, int category) {
  if (plan.alike) return category;
  Draws own = draws;
  own.key0 ^= static_cast<std::uint32_t>(c + 1) * 0x9E3779B1u;
  return Order(own, site, n_categories)(category);
}

// The categories of a driver refine its states: the widest is split until there are enough.
CAUSEWAY_HOST_DEVICE_CALL void draw_rule_column(const Draws& draws, std::uint32_t site,
                                                std::uint32_t edge_site, const RulesPlan& plan,
                                                int c, RuleColumn& column) {
  constexpr float kExponents[3] = {1.0f, 0.14f, -0.2f};
  const auto at = static_cast<std::uint32_t>(c);
  const Bits128 bits = draws.bits(site, at, 0);
  const Bits128 more = draws.bits(site, at, 1);
  const bool is_driver = c < plan.n_drivers;
  const int n_states = is_driver ? plan.drivers[c].n_states : 1;
  const int least = n_states < 2 ? 2 : n_states;
  const ColumnLook look = plan.look == ColumnLook::mixed
                              ? static_cast<ColumnLook>(bounded(bits.word[0], 3))
                              : plan.look;
  column.n_categories = look == ColumnLook::real ? 0 : least;
  if (look == ColumnLook::categorical) {
    column.n_categories = least + bounded(bits.word[1], kMostStates + 1 - least);
    if (plan.alike) column.n_categories = least > plan.n_categories ? least : plan.n_categories;
  }
  column.mirrored = !plan.alike && bounded(bits.word[2], 2) == 1;
  column.exponent = kExponents[bounded(bits.word[3], 3)];
  column.tail = bounded(more.word[0], 2) == 1 ? 1.0f : 0.2f;
  const bool copies = !is_driver && open_uniform(more.word[1]) < plan.twin_share;
  column.twin = copies ? bounded(more.word[2], plan.n_drivers) : -1;
  column.copied = elementary::fma(0.65f, open_uniform(more.word[3]), 0.3f);
  for (int k = 0; k < kMostStates - 1; ++k) {
    column.edges[k] = k < n_states - 1 ? plan.drivers[c].cuts[k] : 1.0f;
  }
  for (int n = n_states; n < column.n_categories; ++n) {
    const auto low_of = [&](int k) { return k == 0 ? 0.0f : column.edges[k - 1]; };
    const auto extent_of = [&](int k) { return (k == n - 1 ? 1.0f : column.edges[k]) - low_of(k); };
    int widest = 0;
    for (int k = 1; k < n; ++k) widest = extent_of(k) > extent_of(widest) ? k : widest;
    const float part =
        elementary::fma(0.4f, draws.uniform(edge_site, at, static_cast<std::uint32_t>(n)), 0.3f);
    const float edge = elementary::fma(part, extent_of(widest), low_of(widest));
    for (int k = n - 1; k > widest; --k) column.edges[k] = column.edges[k - 1];
    column.edges[widest] = edge;
  }
}

// Fills columns with uniform numbers, the same in both worlds.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void draw_quantiles(W& w, Columns out) {
  constexpr int kBatch = W::Team::kRows == 1 ? 1 : 16;  // consecutive rows
  const std::uint32_t site = w.next_site();
  const int n_batches = (w.n_fit + kBatch - 1) / kBatch;
  const int n_fours = (out.n_columns + 3) / 4;
  for_each(w.team, n_batches * n_fours, [&](int at) {
    const int four = at / n_batches;
    const int row = (at - four * n_batches) * kBatch;
    const BitsBatch<kBatch> bits(w.draws, site, static_cast<std::uint32_t>(row),
                                 static_cast<std::uint32_t>(four));
    CAUSEWAY_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (4 * four + k >= out.n_columns) continue;
      float* to = out.column(4 * four + k) + row;
      for (int i = 0; i < kBatch; ++i) to[i] = open_uniform(bits.word[k][i]);
    }
  });
  w.team.sync();
  const int n_more = w.row_end() - w.n_fit;
  for_each(w.team, n_more * out.n_columns, [&](int at) {
    float* column = out.column(at / n_more);
    const int row = w.n_fit + at % n_more;
    column[row] = column[w.drawn_row(row)];
  });
  w.team.sync();
}

// The state of a driver whose column is set to a value.
CAUSEWAY_HOST_DEVICE_CALL int state_at(const Draws& draws, std::uint32_t site,
                                       const RulesPlan& plan, const RuleColumn& column, int c,
                                       float value) {
  const Driver& driver = plan.drivers[c];
  for (int k = 0; k < column.n_categories; ++k) {
    const int code = code_of(draws, site, plan, c, column.n_categories, k);
    if (static_cast<float>(code) != value) continue;
    return driver.state_of(k == 0 ? 0.0f : column.edges[k - 1]);
  }
  int state = 0;
  for (int k = 0; k < driver.n_states - 1; ++k) {
    const float cut = column.value_of(driver.cuts[k]);
    state += (column.mirrored ? value <= cut : value >= cut) ? 1 : 0;
  }
  return state;
}

// The outcome of a row; state(k) is that of driver k.
template <class State>
CAUSEWAY_HOST_DEVICE int outcome_of(const RulesPlan& plan, const State& state) {
  if (plan.rule == Rule::lines) {
    unsigned zeros = 0;
    for (int k = 0; k < plan.n_drivers; ++k) zeros |= state(k) == 0 ? 1u << k : 0u;
    int line = 0;
    while (line < plan.n_lines && (plan.lines[line] & ~zeros) != 0) ++line;
    return line == plan.n_lines ? 0 : line + 1;
  }
  if (plan.rule == Rule::comparison) {
    const int half = plan.n_drivers / 2;
    const auto side = [&](int first) {
      const int a = state(first) + 1;
      if (half == 1) return a;
      const int b = state(first + 1) + 1;
      return plan.multiplies ? a * b : a + b;
    };
    const int left = side(0);
    const int right = side(half);
    return left < right ? 0 : (left == right ? 1 : 2);
  }
  int cell = 0;
  for (int k = plan.n_drivers - 1; k >= 0; --k) cell = cell * plan.drivers[k].n_states + state(k);
  return plan.cells[cell];
}

// The target: the value of the outcome, or with noise another class or number.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void apply_rule(W& w, const RulesPlan& plan, int n_classes,
                                          const OtherWorld& other, int forced_state, Columns x,
                                          float* target, float* row_error) {
  const std::uint32_t site = w.next_site();
  const int forced = other.wanted ? other.intervention.column : -1;
  const float error =
      n_classes > 0 ? plan.noise * (1.0f - 1.0f / static_cast<float>(n_classes)) : 0.0f;
  for_each(w.team, w.row_end(), [&](int row) {
    const bool second = in_other_world(w, row);
    float value = plan.values[outcome_of(plan, [&](int k) {
      return second && k == forced ? forced_state : plan.drivers[k].state_of(x.column(k)[row]);
    })];
    if (plan.noise > 0.0f && !(second && other.noiseless)) {
      const Bits128 bits = w.draws.bits(site, w.drawn_row(row));
      if (n_classes == 0) {
        float drawn, unused;
        normal_pair_f32(bits.word[0], bits.word[1], drawn, unused);
        value = elementary::fma(plan.noise, drawn, value);
      } else if (open_uniform(bits.word[0]) < plan.noise) {
        value = static_cast<float>(bounded(bits.word[1], n_classes));
      }
    }
    target[row] = value;
    row_error[row] = error;
  });
  w.team.sync();
}

// Evaluates the features and the target (last column) of a plan.
template <class W>
CAUSEWAY_HOST_DEVICE_CALL void evaluate_rules(W& w, const RulesPlan& plan, int n_classes,
                                              const OtherWorld& other, Columns out,
                                              float* row_error) {
  static_assert(sizeof(RuleColumn) % sizeof(float) == 0);
  const int n_features = out.n_columns - 1;
  const Columns x = out.slice(0, n_features);
  auto* columns = reinterpret_cast<RuleColumn*>(
      w.arena.take(n_features * static_cast<std::int64_t>(sizeof(RuleColumn) / sizeof(float))));
  if (w.arena.failed) return;
  const std::uint32_t site = w.next_site();
  const std::uint32_t edge_site = w.next_site();
  const std::uint32_t code_site = w.next_site();
  const std::uint32_t twin_site = w.next_site();
  for_each(w.team, n_features,
           [&](int c) { draw_rule_column(w.draws, site, edge_site, plan, c, columns[c]); });
  draw_quantiles(w, x);
  w.team.columns(n_features - plan.n_drivers, [&](int distractor, const auto& lanes) {
    const int c = plan.n_drivers + distractor;
    const RuleColumn& column = columns[c];
    if (column.twin < 0) return;
    const float* from = x.column(column.twin);
    float* to = x.column(c);
    lanes.each(w.row_end(), [&](int row) {
      const float u = w.draws.uniform(twin_site, w.drawn_row(row), static_cast<std::uint32_t>(c));
      if (u < column.copied) to[row] = from[row];
    });
  });
  w.team.sync();
  const Intervention forced = other.wanted ? other.intervention : Intervention{};
  int forced_state = 0;
  if (forced.column >= 0 && forced.column < plan.n_drivers) {
    forced_state =
        state_at(w.draws, code_site, plan, columns[forced.column], forced.column, forced.value);
  }
  apply_rule(w, plan, n_classes, other, forced_state, x, out.column(n_features), row_error);
  for (int c = 0; c < n_features; ++c) note(w.team, "categories", columns[c].n_categories);
  w.team.columns(n_features, [&](int c, const auto& lanes) {
    const RuleColumn column = columns[c];
    float codes[kMostStates];
    for (int k = 0; k < column.n_categories; ++k) {
      codes[k] = static_cast<float>(code_of(w.draws, code_site, plan, c, column.n_categories, k));
    }
    float* values = x.column(c);
    lanes.each(w.row_end(), [&](int row) {
      const float quantile = values[row];
      values[row] =
          column.n_categories > 0 ? codes[column.category_of(quantile)] : column.value_of(quantile);
      if (c == forced.column && in_other_world(w, row)) values[row] = forced.value;
    });
  });
  w.team.sync();
}

}  // namespace causeway::prior
