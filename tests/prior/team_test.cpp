// A dataset does not depend on the team: one thread, or several that share its loops.
#include "causeway/prior/device/dataset.h"

#include "tests/prior/crew.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

namespace causeway::prior {
namespace {

struct Made {
  DatasetInfo info{};
  std::vector<float> x, y;
};

// Generates in memory that is filled with `before`.
Made made_by_one(const Recipe& recipe, std::uint64_t index, float before = 0) {
  Made made;
  made.x.resize(static_cast<std::size_t>(recipe.rows.high * recipe.features.high));
  made.y.resize(static_cast<std::size_t>(recipe.rows.high));
  const auto shared = std::make_unique<Shared>();
  std::vector<float> arena(static_cast<std::size_t>(recipe.arena_floats), before);
  made.info = make_dataset(Solo{}, recipe, 3, index, 0, OtherWorld{}, *shared, arena.data(),
                           DatasetOut{made.x.data(), made.y.data(), recipe.features.high});
  return made;
}

Made made_by_many(const Recipe& recipe, std::uint64_t index) {
  Made made;
  made.x.resize(static_cast<std::size_t>(recipe.rows.high * recipe.features.high));
  made.y.resize(static_cast<std::size_t>(recipe.rows.high));
  const auto shared = std::make_unique<Shared>();
  std::vector<float> arena(static_cast<std::size_t>(recipe.arena_floats));
  run_crew(3, [&](const Crew& crew) {
    const DatasetInfo info =
        make_dataset(crew, recipe, 3, index, 0, OtherWorld{}, *shared, arena.data(),
                     DatasetOut{made.x.data(), made.y.data(), recipe.features.high});
    if (crew.member == 0) made.info = info;
  });
  return made;
}

TEST(PriorTeam, DatasetsAreTheSameForAnyTeamSize) {
  Recipe recipe;
  recipe.rows = {96, 96};
  for (const Family family :
       {Family::simple, Family::mlp, Family::tree, Family::graph, Family::rules, Family::linear}) {
    const bool varied = family == Family::graph || family == Family::rules;
    for (const Span classes : {Span{2, 6}, Span{0, 0}}) {
      recipe.family = family;
      recipe.classes = classes;
      recipe.features = {1, varied ? 40 : 6};
      for (std::uint64_t index = 0; index < (varied ? 6 : 4); ++index) {
        // Every third time there is no spare memory.
        recipe.arena_floats = std::int64_t{1} << (index % 3 == 2 ? 16 : 20);
        const Made one = made_by_one(recipe, index);
        const Made many = made_by_many(recipe, index);
        ASSERT_EQ(one.info.attempts, many.info.attempts);
        ASSERT_EQ(one.info.n_features, many.info.n_features);
        ASSERT_EQ(one.x, many.x) << "family " << static_cast<int>(family) << " dataset " << index;
        ASSERT_EQ(one.y, many.y) << "family " << static_cast<int>(family) << " dataset " << index;
      }
    }
  }
}

// With enough memory, and when an attempt runs out of memory and is redrawn.
TEST(PriorTeam, DatasetsDoNotDependOnPreviousMemoryContents) {
  Recipe recipe;
  recipe.family = Family::graph;
  recipe.rows = {64, 64};
  recipe.features = {1, 60};
  recipe.classes = {2, 6};
  for (const int power : {17, 18, 19, 20}) {
    recipe.arena_floats = std::int64_t{1} << power;
    for (std::uint64_t index = 0; index < 12; ++index) {
      const Made one = made_by_one(recipe, index);
      for (const float before : {std::numeric_limits<float>::quiet_NaN(), 1e30f, -3.0f}) {
        const Made other = made_by_one(recipe, index, before);
        ASSERT_EQ(one.info.attempts, other.info.attempts) << power << ", dataset " << index;
        ASSERT_EQ(one.x, other.x) << power << ", dataset " << index << ", " << before;
        ASSERT_EQ(one.y, other.y) << power << ", dataset " << index << ", " << before;
      }
    }
  }
}

}  // namespace
}  // namespace causeway::prior
