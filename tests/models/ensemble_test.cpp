// Members of an ensemble: columns in turn, groups of classes, and how predictions are combined.
#include "causeway/models/ensemble.h"

#include "causeway/core/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace causeway::models {
namespace {

TEST(Ensemble, MembersReadColumnsInTurn) {
  const auto drawn = draw_columns(7, 25, 10, 1);
  std::vector<int> reads(25, 0);
  for (const auto& columns : drawn) {
    EXPECT_EQ(std::set(columns.begin(), columns.end()).size(), 10u);
    for (const std::int64_t column : columns) ++reads[static_cast<std::size_t>(column)];
  }
  for (const int n : reads) EXPECT_TRUE(n == 2 || n == 3) << n;  // 70 reads of 25 columns
  EXPECT_EQ(drawn, draw_columns(7, 25, 10, 1));
  EXPECT_NE(drawn, draw_columns(7, 25, 10, 2));
  EXPECT_EQ(draw_columns(2, 3, 10, 1)[0], (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Ensemble, GroupsTellAllClassesApart) {
  for (const std::int64_t n_classes : {11, 100, 300}) {
    const std::int64_t n_members = members_for_classes(n_classes, 10);
    std::set<std::vector<std::int64_t>> words;
    std::vector<std::vector<std::int64_t>> codes;
    for (std::int64_t i = 0; i < n_members; ++i) codes.push_back(draw_codes(i, n_classes, 10, 0));
    for (std::size_t c = 0; c < static_cast<std::size_t>(n_classes); ++c) {
      std::vector<std::int64_t> word;
      for (const auto& member : codes) word.push_back(member[c]);
      words.insert(word);
    }
    EXPECT_EQ(std::ssize(words), n_classes);
  }
  EXPECT_EQ(members_for_classes(10, 10), 1);
  EXPECT_EQ(draw_codes(1, 3, 10, 0), (std::vector<std::int64_t>{1, 2, 0}));
}

Tensor logits_of(const std::vector<float>& values, std::int64_t n_members) {
  return Tensor::from<float>(values,
                             {1, n_members, static_cast<std::int64_t>(values.size()) / n_members});
}

float log(double x) { return static_cast<float>(std::log(x)); }

TEST(Ensemble, AveragesProbabilitiesOrLogits) {
  const std::vector<EnsembleMember> members = {{{}, {}, {0, 1}, {}}, {{}, {}, {1, 0}, {}}};
  const Tensor logits = logits_of({log(0.9), log(0.1), log(0.5), log(0.5)}, 2);
  const auto shares = [&](const Combination& how) {
    return combine_members(logits, members, 2, how).to_vector<double>()[0];
  };
  EXPECT_NEAR(shares({}), 0.7, 1e-6);
  EXPECT_NEAR(shares({.average = Average::logits}), 0.75, 1e-6);  // odds 9 and 1: 3
  EXPECT_NEAR(shares({.average = Average::logits, .temperature = 0.5}), 0.9, 1e-6);
  EXPECT_NEAR(shares({.class_weight = {3, 7}}), 0.5, 1e-6);
  const std::vector<EnsembleMember> turned = {{{}, {}, {0, 1}, {}}};
  const Tensor bad = logits_of({std::nanf(""), 0}, 1);
  EXPECT_THROW((void)combine_members(bad, turned, 2, {}), Error);
}

// Members that know the probabilities of groups of classes, here exactly.
TEST(Ensemble, FindsClassesFromGroups) {
  constexpr std::int64_t kClasses = 30;
  std::vector<double> truth(kClasses, 0.002);
  truth[4] = 0.7;
  truth[17] = 0.3 - 28 * 0.002;
  std::vector<EnsembleMember> members;
  std::vector<float> logits;
  const std::int64_t n_members = members_for_classes(kClasses, 10);
  for (std::int64_t i = 0; i < n_members; ++i) {
    members.push_back({{}, {}, draw_codes(i, kClasses, 10, 0), {}});
    std::vector<double> groups(10, 0);
    for (std::size_t c = 0; c < kClasses; ++c) {
      groups[static_cast<std::size_t>(members.back().codes[c])] += truth[c];
    }
    for (const double share : groups) logits.push_back(log(share));
  }
  const Combination how{.frequencies = std::vector<double>(kClasses, 1.0 / kClasses)};
  const auto got =
      combine_members(logits_of(logits, n_members), members, kClasses, how).to_vector<double>();
  double sum = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    EXPECT_NEAR(got[c], truth[c], 0.01) << c;
    sum += got[c];
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace causeway::models
