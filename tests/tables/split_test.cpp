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

}  // namespace
}  // namespace causeway::tables
