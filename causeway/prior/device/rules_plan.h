// The plan of a dataset of the rules family: the rule, the columns that decide it (drivers, which
// come first; all others are distractors) and the values of its outcomes. Drawn by one thread.
#pragma once

#include "causeway/prior/device/bulk.h"
#include "causeway/prior/device/mlp_plan.h"
#include "causeway/prior/device/shape.h"

namespace causeway::prior {

// Each cell of a column is a quantile between 0 and 1. A driver's state is the number of its cuts
// at or below the quantile.
enum class Rule : std::uint8_t {
  parity,       // sum of the states modulo the number of outcomes: XOR, parity
  conjunction,  // all drivers are in state 0: AND, or OR with exchanged labels
  count,        // how many drivers are in state 0: majority for two classes
  list,         // decision list: the first driver in state 0
  tree,         // leaf of a random decision tree
  lines,        // the first of several sets of three drivers that are all in state 0
  lookup,       // a random outcome per combination of states
  comparison,   // whether a driver, or a product or sum of two, is below, equal to or above another
};
static_assert(kRules == static_cast<int>(Rule::comparison) + 1);

inline constexpr int kMostStates = 8;
inline constexpr int kMostDrivers = 9;       // of lines
inline constexpr int kMostTableDrivers = 4;  // of all other rules
inline constexpr int kMostCells = 64;        // combinations of states
inline constexpr int kMostLines = 8;
inline constexpr int kMostRuleDepth = 4;  // of a tree

enum class ColumnLook : std::uint8_t { binary, categorical, real, mixed };

struct Driver {
  int n_states;
  float cuts[kMostStates - 1];  // ascending

  CAUSEWAY_HOST_DEVICE int state_of(float quantile) const {
    int state = 0;
    for (int k = 0; k < n_states - 1; ++k) state += quantile >= cuts[k] ? 1 : 0;
    return state;
  }
  // The probability of a state.
  CAUSEWAY_HOST_DEVICE float share_of(int state) const {
    const float low = state == 0 ? 0.0f : cuts[state - 1];
    return (state == n_states - 1 ? 1.0f : cuts[state]) - low;
  }
};

struct RulesPlan {
  Rule rule;
  ColumnLook look;
  bool alike;        // all columns have the same categories and direction
  bool multiplies;   // a comparison of products, not of sums
  int n_categories;  // of alike categorical columns
  int n_drivers;
  int n_cells;  // of the table; 0 for lines and comparisons
  int n_lines;
  int n_outcomes;
  float twin_share;  // fraction of distractors that are noisy copies of a driver
  float noise;       // fraction of random labels, or standard deviation
  Driver drivers[kMostDrivers];
  std::uint8_t cells[kMostCells];   // outcome per combination; the first driver varies fastest
  std::uint16_t lines[kMostLines];  // bit masks of drivers
  float values[kMostCells];         // class or number per outcome
};

// Draws a rule that is possible with these numbers of features and classes; a lookup if none of the
// weighted rules is.
CAUSEWAY_HOST_DEVICE_CALL Rule draw_rule(PlanDraws& d, int n_features, int n_classes,
                                         const float (&given)[kRules]) {
  const int most_drivers = at_most(n_features, kMostTableDrivers);
  float weights[kRules];
  for (int k = 0; k < kRules; ++k) weights[k] = given[k];
  const auto exclude = [&](Rule rule) { weights[static_cast<int>(rule)] = 0.0f; };
  if (n_classes > 2) exclude(Rule::conjunction);  // it has two outcomes
  if (n_classes > most_drivers + 1) {             // they have one more than drivers
    exclude(Rule::count);
    exclude(Rule::list);
  }
  if (n_features < 4) exclude(Rule::lines);
  if (n_features < 2 || n_classes < 2 || n_classes > 3) exclude(Rule::comparison);
  float total = 0.0f;
  for (const float weight : weights) total += weight;
  if (total == 0.0f) weights[static_cast<int>(Rule::lookup)] = 1.0f;
  return static_cast<Rule>(weighted(d.uniform(), weights));
}

CAUSEWAY_HOST_DEVICE_CALL int draw_driver_count(PlanDraws& d, Rule rule, int n_features,
                                                int n_classes) {
  int n = 2 + d.below(3);
  if ((rule == Rule::count || rule == Rule::list) && n < n_classes - 1) n = n_classes - 1;
  if (rule == Rule::lookup) n = 1 + d.below(kMostTableDrivers);
  if (rule == Rule::lines) n = 4 + d.below(kMostDrivers - 3);
  if (rule == Rule::comparison) n = n_features < 4 || n == 2 ? 2 : 4;
  return at_most(n, n_features);
}

// Draws the number of states of each driver. A table has at most one cell per four context rows,
// if that leaves enough for the classes; drivers beyond are dropped.
CAUSEWAY_HOST_DEVICE_CALL void draw_states(PlanDraws& d, int n_classes, int n_train,
                                           RulesPlan& plan) {
  const bool is_lines = plan.rule == Rule::lines;
  const bool has_table = !is_lines && plan.rule != Rule::comparison;
  const int wanted = n_classes > 4 ? n_classes : 4;
  const int learnable = at_most(n_train / 4, kMostCells);
  const int most_cells = learnable > wanted ? learnable : wanted;
  plan.n_cells = has_table ? 1 : 0;
  for (int k = 0; k < plan.n_drivers; ++k) {
    int& n = plan.drivers[k].n_states;
    n = 2;
    if (plan.look != ColumnLook::binary) {
      if (is_lines) n = 2 + d.below(2);
      if (plan.rule == Rule::tree) n = 2 + d.below(3);
      if (plan.rule == Rule::lookup) n = 2 + d.below(kMostStates - 1);
    }
    if (plan.rule == Rule::parity) n = at_most(plan.n_outcomes, kMostStates);
    if (plan.rule == Rule::comparison) n = plan.n_categories;
    if (!has_table) continue;
    const bool is_free = plan.rule == Rule::tree || plan.rule == Rule::lookup;
    const int room = (k < 2 && !is_free ? kMostCells : most_cells) / plan.n_cells;
    if (room < (is_free ? 2 : n)) {
      plan.n_drivers = k;
      return;
    }
    n = at_most(n, room);
    plan.n_cells *= n;
    if (!is_free || k + 1 < plan.n_drivers) continue;
    const int others = plan.n_cells / n;  // combinations of the other drivers
    while (plan.n_cells < n_classes && n < kMostStates && others * (n + 1) <= kMostCells) {
      plan.n_cells = others * ++n;
    }
  }
}

// Draws cuts such that the classes have similar probabilities.
CAUSEWAY_HOST_DEVICE_CALL void draw_cuts(PlanDraws& d, int n_classes, RulesPlan& plan) {
  const auto fraction = [](int n) { return 1.0f / static_cast<float>(n); };
  // Probability that a conjunction holds, or one of the lines.
  float holds = elementary::fma(0.3f, d.uniform(), 0.35f);
  if (n_classes > 2) holds = 1.0f - fraction(n_classes);
  for (int k = 0; k < plan.n_drivers; ++k) {
    Driver& driver = plan.drivers[k];
    const int n = driver.n_states;
    const auto jitter = [&] { return 0.5f * (d.uniform() - 0.5f); };
    float first = (1.0f + jitter()) * fraction(n);  // share of state 0
    if (plan.rule == Rule::conjunction) first = power(holds, fraction(plan.n_drivers));
    if (plan.rule == Rule::list) first = (1.0f + jitter()) * fraction(plan.n_drivers + 1 - k);
    if (plan.rule == Rule::lines) {
      const float one = 1.0f - power(1.0f - holds, fraction(plan.n_lines));
      first = power(one, 1.0f / 3.0f);
    }
    driver.cuts[0] = first;
    for (int i = 1; i < n - 1; ++i) {
      const float place = (static_cast<float>(i) + jitter()) * fraction(n - 1);
      driver.cuts[i] = elementary::fma(1.0f - first, place, first);
    }
  }
}

// A complete binary tree over driver states; node k has the children 2k + 1 and 2k + 2.
struct RuleTree {
  int depth;
  std::int8_t drivers[1 << kMostRuleDepth];
  std::int8_t cuts[1 << kMostRuleDepth];

  CAUSEWAY_HOST_DEVICE int leaf_of(const int (&states)[kMostTableDrivers]) const {
    int node = 0;
    for (int level = 0; level < depth; ++level) {
      node = 2 * node + (states[drivers[node]] >= cuts[node] ? 2 : 1);
    }
    return node + 1 - (1 << depth);
  }
};

CAUSEWAY_HOST_DEVICE_CALL void draw_rule_tree(PlanDraws& d, const RulesPlan& plan, int n_classes,
                                              RuleTree& tree) {
  tree.depth = n_classes > 4 ? kMostRuleDepth : 2 + d.below(kMostRuleDepth - 1);
  for (int node = 0; node < (1 << tree.depth) - 1; ++node) {
    const int driver = node == 0 ? 0 : d.below(plan.n_drivers);
    tree.drivers[node] = static_cast<std::int8_t>(driver);
    tree.cuts[node] = static_cast<std::int8_t>(1 + d.below(plan.drivers[driver].n_states - 1));
  }
}

// Fills the table, and the probability of each outcome.
CAUSEWAY_HOST_DEVICE_CALL void fill_table(PlanDraws& d, int n_classes, RulesPlan& plan,
                                          float (&shares)[kMostCells]) {
  RuleTree tree{};
  if (plan.rule == Rule::tree) draw_rule_tree(d, plan, n_classes, tree);
  switch (plan.rule) {
    case Rule::parity: break;  // drawn before
    case Rule::conjunction: plan.n_outcomes = 2; break;
    case Rule::tree: plan.n_outcomes = 1 << tree.depth; break;
    case Rule::lookup: plan.n_outcomes = plan.n_cells; break;
    default: plan.n_outcomes = plan.n_drivers + 1;
  }
  for (int cell = 0; cell < plan.n_cells; ++cell) {
    int states[kMostTableDrivers] = {};
    int rest = cell;
    int sum = 0;
    int n_zero = 0;
    int first_zero = plan.n_drivers;
    float share = 1.0f;
    for (int k = 0; k < plan.n_drivers; ++k) {
      const Driver& driver = plan.drivers[k];
      states[k] = rest % driver.n_states;
      rest /= driver.n_states;
      sum += states[k];
      share *= driver.share_of(states[k]);
      if (states[k] == 0) ++n_zero;
      if (states[k] == 0 && first_zero == plan.n_drivers) first_zero = k;
    }
    int outcome = cell;  // lookup
    if (plan.rule == Rule::parity) outcome = sum % plan.n_outcomes;
    if (plan.rule == Rule::conjunction) outcome = n_zero == plan.n_drivers ? 1 : 0;
    if (plan.rule == Rule::count) outcome = n_zero;
    if (plan.rule == Rule::list) outcome = first_zero;
    if (plan.rule == Rule::tree) outcome = tree.leaf_of(states);
    plan.cells[cell] = static_cast<std::uint8_t>(outcome);
    shares[outcome] += share;
  }
}

// Distinct sets of three drivers.
CAUSEWAY_HOST_DEVICE_CALL void draw_lines(PlanDraws& d, RulesPlan& plan) {
  const auto pairs = [](int n) { return n * (n - 1) / 2; };
  const int n = plan.n_drivers;
  const Order order(d.draws, d.next_site(), pairs(n) * (n - 2) / 3);
  for (int line = 0; line < plan.n_lines; ++line) {
    int rest = order(line);  // place among the sets in lexicographic order
    int a = 0;
    for (; rest >= pairs(n - 1 - a); ++a) rest -= pairs(n - 1 - a);
    int b = a + 1;
    for (; rest >= n - 1 - b; ++b) rest -= n - 1 - b;
    plan.lines[line] = static_cast<std::uint16_t>(1u << a | 1u << b | 1u << (b + 1 + rest));
  }
}

// Assigns a class or a number to each outcome. More outcomes than classes are put in random order
// (counts in their own) and cut into classes of about equal probability.
CAUSEWAY_HOST_DEVICE_CALL void draw_values(PlanDraws& d, int n_classes, RulesPlan& plan,
                                           const float (&shares)[kMostCells]) {
  const std::uint32_t site = d.next_site();
  const Order order(d.draws, d.next_site(), plan.n_outcomes);
  float before = 0.0f;
  for (int k = 0; k < plan.n_outcomes; ++k) {
    const int outcome = plan.rule == Rule::count ? k : order(k);
    float& value = plan.values[outcome];
    if (n_classes == 0) {
      value = d.draws.normal(site, static_cast<std::uint32_t>(outcome));
    } else if (plan.rule == Rule::lines) {  // outcome 0: no line
      value = static_cast<float>(outcome == 0 ? 0 : 1 + (outcome - 1) % (n_classes - 1));
    } else if (plan.n_outcomes <= n_classes) {
      value = static_cast<float>(outcome);
    } else {
      const float middle = elementary::fma(0.5f, shares[outcome], before);
      value = clamped(floor_of(middle * static_cast<float>(n_classes)), 0.0f,
                      static_cast<float>(n_classes - 1));
    }
    before += shares[outcome];
  }
}

CAUSEWAY_HOST_DEVICE_CALL void draw_rules_plan(const Draws& draws, int n_features, int n_classes,
                                               int n_train, const float (&weights)[kRules],
                                               RulesPlan& plan) {
  PlanDraws d{draws, kPlanSite, nullptr};
  plan.rule = draw_rule(d, n_features, n_classes, weights);
  plan.look = static_cast<ColumnLook>(d.below(4));
  plan.alike = d.below(2) == 1;
  if (plan.rule == Rule::comparison) {  // the order of the values has a meaning
    plan.alike = true;
    plan.multiplies = d.below(2) == 1;
    if (plan.look == ColumnLook::binary) plan.look = ColumnLook::categorical;
  }
  plan.n_categories = 2 + d.below(kMostStates - 1);
  if (plan.rule == Rule::comparison && plan.n_categories < 3) plan.n_categories = 3;
  plan.n_drivers = draw_driver_count(d, plan.rule, n_features, n_classes);
  plan.n_outcomes = n_classes > 0 ? n_classes : 2 + d.below(3);  // of parity; others set their own
  draw_states(d, n_classes, n_train, plan);
  float shares[kMostCells] = {};
  if (plan.rule == Rule::lines) {
    const int n = plan.n_drivers;
    plan.n_lines = at_most(2 + d.below(kMostLines - 1), n * (n - 1) * (n - 2) / 6);
    plan.n_outcomes = plan.n_lines + 1;
    draw_cuts(d, n_classes, plan);
    draw_lines(d, plan);
  } else if (plan.rule == Rule::comparison) {
    plan.n_outcomes = 3;
    for (int k = 0; k < 3; ++k) shares[k] = k == 1 ? 0.2f : 0.4f;  // about
    draw_cuts(d, n_classes, plan);
  } else {
    draw_cuts(d, n_classes, plan);
    fill_table(d, n_classes, plan, shares);
  }
  draw_values(d, n_classes, plan, shares);
  const bool has_twins = d.uniform() < 0.3f;
  plan.twin_share = has_twins ? 0.5f * d.uniform() : 0.0f;
  const bool is_noisy = d.uniform() < 0.5f;
  const float unit = d.uniform();
  plan.noise = is_noisy ? 0.3f * unit * unit : 0.0f;
  if (n_classes == 0) plan.noise = log_uniform(d, 0.01f, 0.7f);
}

}  // namespace causeway::prior
