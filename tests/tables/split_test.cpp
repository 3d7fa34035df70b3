// Stratified samples and halves.
#include "causeway/tables/split.h"

#include "tests/tensor/devices.h"

#include <algorithm>
#include <map>

namespace causeway::tables {
namespace {

TEST(Split, EveryClassHasItsShare) {
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 100; ++i) classes.push_back(i % 10 < 7 ? 0 : (i % 10 < 9 ? 1 : 2));
  Generator generator(1);
  const auto half = stratified_sample(classes, 50, generator);
  std::map<std::int64_t, int> counts;
  for (const std::int64_t row : half) ++counts[classes[static_cast<std::size_t>(row)]];
  EXPECT_EQ(counts, (std::map<std::int64_t, int>{{0, 35}, {1, 10}, {2, 5}}));
  EXPECT_TRUE(std::is_sorted(half.begin(), half.end()));
  EXPECT_EQ(std::adjacent_find(half.begin(), half.end()), half.end());
  EXPECT_NE(stratified_sample(classes, 50, generator), half);  // another draw
  const auto three = stratified_sample(classes, 3, generator);
  counts.clear();
  for (const std::int64_t row : three) ++counts[classes[static_cast<std::size_t>(row)]];
  EXPECT_EQ(counts, (std::map<std::int64_t, int>{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(stratified_sample(classes, 1000, generator).size(), 100u);
}

TEST(Split, HalvesAreAllRowsOnce) {
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 41; ++i) classes.push_back(i % 3);
  Generator generator(2);
  const Halves halves = halve(classes, generator);
  auto rows = halves.context.to_vector<std::int64_t>();
  EXPECT_EQ(rows.size(), 20u);
  const auto query = halves.query.to_vector<std::int64_t>();
  rows.insert(rows.end(), query.begin(), query.end());
  std::sort(rows.begin(), rows.end());
  for (std::int64_t i = 0; i < 41; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], i);
}

TEST(Split, WeightedSamplesFollowTheWeights) {
  const std::vector<std::int64_t> classes = {0, 1, 0, 1, 0, 1};
  Generator generator(4);
  const std::vector<double> equal(6, 0.1);
  EXPECT_EQ(weighted_sample(equal, classes, 6, generator),
            (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  const std::vector<double> weights = {4, 1, 1, 0, 1, 1};
  std::vector<int> counts(6, 0);
  for (int i = 0; i < 200; ++i) {
    const auto drawn = weighted_sample(weights, classes, 4, generator);
    ASSERT_EQ(drawn.size(), 4u);
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
    EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 0), 2);  // half of the weight
    for (const std::int64_t row : drawn) ++counts[static_cast<std::size_t>(row)];
  }
  EXPECT_EQ(counts[3], 0);
  for (const std::size_t row : {1u, 2u, 4u, 5u}) EXPECT_NEAR(counts[row], 100, 40);
}

}  // namespace
}  // namespace causeway::tables
