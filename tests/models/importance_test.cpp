#include "causeway/models/importance.h"

#include "causeway/tables/scores.h"
#include "causeway/tensor/create.h"
#include "tests/models/tables.h"

#include <gtest/gtest.h>

namespace causeway {
namespace {

using models::TabularPredictor;
using models::TabularTransformer;

class Importance : public testing::TestWithParam<bool> {};

// Column 1 is constant among the context rows, so the predictor leaves it out; column 2 is constant
// among the query rows, so shuffling changes nothing.
TEST_P(Importance, OfColumnsThatCannotMatter) {
  const bool regression = GetParam();
  Generator generator(3);
  const auto model = std::make_shared<TabularTransformer>(
      small("default", regression), nn::Placement{DType::f32, Device::cpu(), &generator});
  const Tensor context = generator.normal({24, 3}, 0, 1, DType::f64);
  const Tensor query = generator.normal({10, 3}, 0, 1, DType::f64);
  for (int row = 0; row < 24; ++row) context.data_as<double>()[row * 3 + 1] = 5;
  for (int row = 0; row < 10; ++row) query.data_as<double>()[row * 3 + 2] = 0.5;
  const auto draw = [&](std::int64_t n) {
    return regression ? generator.normal({n}, 0, 1, DType::f64)
                      : generator.integers({n}, 0, 2).to(DType::f64);
  };
  const Tensor y = draw(10);
  TabularPredictor predictor(model, {.n_estimators = 2});
  predictor.fit(context, draw(24), regression ? 0 : 2);
  std::vector<std::int64_t> seen;
  const auto found = models::permutation_importance(
      predictor, query, y, 1, [&](std::int64_t done) { seen.push_back(done); });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_EQ(found[2], 0);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(models::permutation_importance(predictor, query, y, 1), found);
  EXPECT_NE(models::permutation_importance(predictor, query, y, 2), found);
}

INSTANTIATE_TEST_SUITE_P(Tasks, Importance, testing::Bool());

}  // namespace
}  // namespace causeway
