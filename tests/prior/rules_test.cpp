// Plans of the rules family: sizes, balanced outcomes, and the tables of each rule.
#include "causeway/prior/device/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace causeway::prior {
namespace {

RulesPlan plan_of(std::uint64_t index, int n_features, int n_classes, int n_train = 300) {
  RulesPlan plan{};
  constexpr float kWeights[kRules] = {2, 1, 1, 1, 1, 2, 2, 2};
  draw_rules_plan(Draws::of(5, index), n_features, n_classes, n_train, kWeights, plan);
  return plan;
}

// The probability of each class, by enumerating the states of all drivers.
std::vector<double> class_shares(const RulesPlan& plan, int n_classes) {
  std::vector<double> shares(static_cast<std::size_t>(n_classes));
  std::vector<int> states(static_cast<std::size_t>(plan.n_drivers));
  while (true) {
    double share = 1;
    for (int k = 0; k < plan.n_drivers; ++k) {
      share *= static_cast<double>(plan.drivers[k].share_of(states[static_cast<std::size_t>(k)]));
    }
    const int outcome =
        outcome_of(plan, [&](int k) { return states[static_cast<std::size_t>(k)]; });
    shares.at(static_cast<std::size_t>(plan.values[outcome])) += share;
    std::size_t at = 0;
    while (at < states.size() && ++states[at] == plan.drivers[at].n_states) states[at++] = 0;
    if (at == states.size()) return shares;
  }
}

TEST(PriorRules, PlansAreWithinTheirBounds) {
  for (const int n_features : {1, 2, 3, 4, 9, 40}) {
    for (const int n_classes : {0, 2, 3, 7, 10, 64}) {
      for (const int n_train : {1, 12, 60, 1000}) {
        for (std::uint64_t index = 0; index < 40; ++index) {
          const RulesPlan plan = plan_of(index, n_features, n_classes, n_train);
          const bool lines = plan.rule == Rule::lines;
          ASSERT_GE(plan.n_drivers, 1);
          ASSERT_LE(plan.n_drivers, std::min(n_features, lines ? kMostDrivers : kMostTableDrivers));
          ASSERT_LE(plan.n_cells, kMostCells);
          ASSERT_GE(plan.n_outcomes, 2);
          ASSERT_LE(plan.n_outcomes, std::max(kMostCells, n_classes));
          int n_cells = 1;
          for (int k = 0; k < plan.n_drivers; ++k) {
            const Driver& driver = plan.drivers[k];
            ASSERT_GE(driver.n_states, 2);
            ASSERT_LE(driver.n_states, kMostStates);
            n_cells *= driver.n_states;
            for (int s = 0; s < driver.n_states; ++s) ASSERT_GT(driver.share_of(s), 0.01f);
          }
          const bool has_table = !lines && plan.rule != Rule::comparison;
          ASSERT_EQ(plan.n_cells, has_table ? n_cells : 0);
          if (n_classes == 0) continue;
          for (int o = 0; o < plan.n_outcomes; ++o) {
            ASSERT_TRUE(plan.values[o] >= 0 && plan.values[o] < static_cast<float>(n_classes));
          }
        }
      }
    }
  }
}

TEST(PriorRules, ClassesAreBalanced) {
  constexpr int kPlans = 600;
  std::set<Rule> seen;
  int n_even = 0;
  for (std::uint64_t index = 0; index < kPlans; ++index) {
    const RulesPlan plan = plan_of(index, 10, 2);
    const std::vector<double> shares = class_shares(plan, 2);
    EXPECT_NEAR(shares[0] + shares[1], 1.0, 1e-5);
    const double minority = std::min(shares[0], shares[1]);
    EXPECT_GT(minority, 0.15) << "rule " << static_cast<int>(plan.rule);
    n_even += minority > 0.3;
    seen.insert(plan.rule);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kRules));
  EXPECT_GT(n_even, kPlans * 9 / 10);
}

TEST(PriorRules, ManyClassesOccur) {
  int n_all = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const std::vector<double> shares = class_shares(plan_of(index, 10, 6), 6);
    const auto n_seen = std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; });
    EXPECT_GE(n_seen, 3);
    n_all += n_seen == 6;
    EXPECT_LT(*std::max_element(shares.begin(), shares.end()), 0.7);
  }
  EXPECT_GT(n_all, 150);
}

// Moving one driver of a parity to its other state changes the class.
TEST(PriorRules, ParityNeedsEveryDriver) {
  std::set<int> n_drivers;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const RulesPlan plan = plan_of(index, 10, 2);
    if (plan.rule != Rule::parity) continue;
    n_drivers.insert(plan.n_drivers);
    for (int cell = 0; cell < plan.n_cells; ++cell) {
      for (int k = 0; k < plan.n_drivers; ++k) {
        ASSERT_NE(plan.values[plan.cells[cell]], plan.values[plan.cells[cell ^ (1 << k)]]);
      }
    }
  }
  EXPECT_EQ(n_drivers, (std::set<int>{2, 3, 4}));
}

TEST(PriorRules, LinesAreDistinctSetsOfThree) {
  for (std::uint64_t index = 0; index < 300; ++index) {
    const RulesPlan plan = plan_of(index, 4 + static_cast<int>(index % 9), 2);
    if (plan.rule != Rule::lines) continue;
    const std::set<std::uint16_t> lines(plan.lines, plan.lines + plan.n_lines);
    ASSERT_EQ(lines.size(), static_cast<std::size_t>(plan.n_lines));
    for (const unsigned line : lines) {
      ASSERT_EQ(__builtin_popcount(line), 3);
      ASSERT_LT(line, 1u << plan.n_drivers);
    }
  }
}

// A driver's categories refine its states, so that a category determines the state.
TEST(PriorRules, CategoriesRefineStates) {
  int n_checked = 0;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const RulesPlan plan = plan_of(index, 10, 3);
    for (int c = 0; c < 10; ++c) {
      RuleColumn column{};
      draw_rule_column(Draws::of(5, index), 1, 2, plan, c, column);
      if (column.n_categories == 0) continue;
      ASSERT_GE(column.n_categories, 2);
      ASSERT_LE(column.n_categories, kMostStates);
      ASSERT_TRUE(std::is_sorted(column.edges, column.edges + (column.n_categories - 1)));
      if (c >= plan.n_drivers) continue;
      const Driver& driver = plan.drivers[c];
      for (int k = 0; k < driver.n_states - 1; ++k) {
        float* const end = column.edges + (column.n_categories - 1);
        ASSERT_NE(std::find(column.edges, end, driver.cuts[k]), end);
        ++n_checked;
      }
    }
  }
  EXPECT_GT(n_checked, 500);
}

}  // namespace
}  // namespace causeway::prior
