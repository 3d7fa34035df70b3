// Parameters of a prior, and the facts about a dataset before and after generation.
#pragma once

#include "causeway/prior/device/scm.h"

namespace causeway::prior {

enum class Family : std::uint8_t { simple, mlp, tree, graph, rules, linear, mix };
inline constexpr int kFamilies = 6;  // families that generate datasets; mix draws one of them
inline constexpr int kRules = 8;     // of the rules family

enum class MissingBy : std::uint8_t { none, chance, value, other_column };

// An inclusive range of integers.
struct Span {
  int low = 1;
  int high = 1;
  bool logarithmic = false;
};

// Everything that a dataset depends on besides seed and index.
struct Recipe {
  Family family = Family::graph;
  float mix[kFamilies] = {};  // weights of the families
  Span rows;
  Span features;
  Span classes;               // low 0: numeric target
  float binary_share = 0.0f;  // probability of two classes instead
  float rules[kRules] = {};   // weights of the rules of the rules family
  float skewed_share = 0.0f;  // probability that a numeric target is skewed or rounded
  float train_low = 0.3f;
  float train_high = 0.9f;
  float missing_low = 0.0f;  // fraction of missing cells
  float missing_high = 0.0f;
  bool balanced = false;  // class boundaries at equally spaced quantiles
  bool drop_constant = true;
  bool check_classes = true;
  bool predictable = true;
  bool remove_trivial = false;
  float trivial_share = 0.05f;
  int max_attempts = 1000;
  std::int64_t arena_floats = 0;
  GraphOptions graph;
};

enum class Verdict : std::int32_t {
  accepted,
  not_finite,
  too_wide,
  no_features,
  bad_classes,
  unpredictable,
  trivial,
  n_verdicts
};

// Known before any attempt.
struct DatasetShape {
  Family family;
  int n_rows;
  int n_features;
  int n_classes;  // 0: numeric target
  int n_train;

  // Whether the family draws classes, rather than a number that is cut into classes.
  CAUSEWAY_HOST_DEVICE bool draws_classes() const {
    return n_classes > 0 && (family == Family::graph || family == Family::rules);
  }
  // The number of classes that a numeric target is cut into. The linear family has few context
  // rows, which could lack some of many classes.
  CAUSEWAY_HOST_DEVICE int n_cut_classes() const {
    if (family != Family::linear) return n_classes;
    const int most = at_most(n_train, n_rows - n_train) / 4;
    return at_most(n_classes, most < 2 ? 2 : most);
  }
};

// Known after the accepted attempt.
struct DatasetInfo {
  std::int32_t n_rows;
  std::int32_t n_features;  // without dropped constant columns
  std::int32_t n_classes;   // requested; 0: numeric target
  std::int32_t n_train;
  std::int32_t family;
  std::int32_t attempts;  // rejected attempts before the accepted one
  std::int32_t verdict;
  std::int32_t rejected[static_cast<int>(Verdict::n_verdicts)];
  float bayes_error;  // of sampled classes, otherwise 0
};

CAUSEWAY_HOST_DEVICE_CALL int draw_span(const Draws& draws, std::uint32_t site, const Span& span) {
  const float u = draws.uniform(site, 0);
  const int width = span.high - span.low + 1;
  int value = span.low;
  if (span.logarithmic) {
    value = static_cast<int>(floor_of(
        stretch(u, {static_cast<float>(span.low), static_cast<float>(span.high + 1), true})));
  } else {
    value += static_cast<int>(static_cast<float>(width) * u);
  }
  return value < span.low ? span.low : (value > span.high ? span.high : value);
}

// Does not depend on the attempt.
CAUSEWAY_HOST_DEVICE_CALL DatasetShape shape_of(const Recipe& recipe, const Draws& dataset) {
  constexpr std::uint32_t kShapeSite = 0x10000000u;
  Draws draws = dataset;
  draws.attempt = 0;
  DatasetShape shape{};
  shape.family = recipe.family;
  if (recipe.family == Family::mix) {
    shape.family = static_cast<Family>(weighted(draws.uniform(kShapeSite, 1), recipe.mix));
  }
  shape.n_rows = draw_span(draws, kShapeSite + 2, recipe.rows);
  shape.n_features = draw_span(draws, kShapeSite + 3, recipe.features);
  shape.n_classes = recipe.classes.low == 0 ? 0 : draw_span(draws, kShapeSite + 4, recipe.classes);
  if (shape.n_classes > 0 && draws.uniform(kShapeSite + 6, 0) < recipe.binary_share) {
    shape.n_classes = 2;
  }
  const float share = elementary::fma(recipe.train_high - recipe.train_low,
                                      draws.uniform(kShapeSite + 5, 0), recipe.train_low);
  int n_train = static_cast<int>(share * static_cast<float>(shape.n_rows));
  if (shape.family == Family::linear && draws.uniform(kShapeSite + 7, 0) < 0.75f) {
    // About as many context rows as columns.
    const float ratio = stretch(draws.uniform(kShapeSite + 7, 1), {0.5f, 4.0f, true});
    const int few = static_cast<int>(ratio * static_cast<float>(shape.n_features));
    const int least = 4 + 2 * shape.n_classes;
    n_train = at_most(n_train, few < least ? least : few);
  }
  shape.n_train = n_train < 1 ? 1 : (n_train > shape.n_rows ? shape.n_rows : n_train);
  return shape;
}

}  // namespace causeway::prior
