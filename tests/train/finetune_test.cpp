// Fine-tuning: it learns a table that the model does not know, and never returns worse weights.
#include "causeway/train/finetune.h"

#include "causeway/core/error.h"
#include "tests/models/tables.h"

#include <gtest/gtest.h>

namespace causeway::train {
namespace {

using models::TabularPredictor;
using models::TabularTransformer;

TabularPredictor fitted(bool regression, std::int64_t n_rows = 200) {
  Generator generator(5);
  const auto model = std::make_shared<TabularTransformer>(
      small("default", regression), nn::Placement{DType::f32, Device::cpu(), &generator});
  // A linear fit would know the target.
  TabularPredictor predictor(model, {.target_transforms = {models::TargetTransform::none}});
  const Tensor x = generator.normal({n_rows, 3}, 0, 1, DType::f64);
  const Tensor score = x.select(1, 0) + x.select(1, 1);
  const Tensor y = regression ? score : compare(CompareOp::greater, score, 0.0).to(DType::f64);
  predictor.fit(x, y.contiguous(), regression ? 0 : 2);
  return predictor;
}

TEST(Finetune, LowersTheHeldOutLoss) {
  for (const bool regression : {false, true}) {
    const TabularPredictor predictor = fitted(regression);
    FinetuneOptions options;
    options.seconds = 1e6;
    options.max_steps = regression ? 60 : 200;
    options.learning_rate = 1e-2;
    const Finetuned made = finetune(predictor, options);
    EXPECT_EQ(made.n_steps, options.max_steps);
    EXPECT_LT(made.loss_after, made.loss_before - 0.02) << regression;
    const Finetuned again = finetune(predictor, options);
    EXPECT_EQ(again.loss_after, made.loss_after);  // deterministic by seed
    // The predictor's own model is as before.
    EXPECT_EQ(finetune(predictor, {.seconds = 1e6, .max_steps = 0}).loss_before, made.loss_before);
  }
}

// Steps that are far too long destroy the weights; those before are returned.
TEST(Finetune, NeverReturnsWorseWeights) {
  const TabularPredictor predictor = fitted(false);
  FinetuneOptions options;
  options.seconds = 1e6;
  options.max_steps = 9;
  options.learning_rate = 30;
  const Finetuned made = finetune(predictor, options);
  EXPECT_LE(made.loss_after, made.loss_before);
  for (const auto& [name, tensor] : predictor.model()->state()) {
    if (made.loss_after == made.loss_before) {
      expect_same_bytes(made.weights.at(name), tensor, name);
    }
  }
}

// Steps on targets of chance find nothing that holds for other rows.
TEST(Finetune, LeavesNoiseAlone) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Generator generator(seed);
    const auto model = std::make_shared<TabularTransformer>(
        small("default", true), nn::Placement{DType::f32, Device::cpu(), &generator});
    TabularPredictor predictor(
        model, {.seed = seed, .target_transforms = {models::TargetTransform::none}});
    predictor.fit(generator.normal({60, 3}, 0, 1, DType::f64),
                  generator.normal({60}, 0, 1, DType::f64), 0);
    const Finetuned made = finetune(predictor, {.seconds = 1e6, .max_steps = 40});
    EXPECT_EQ(made.loss_after, made.loss_before) << seed;
  }
}

TEST(Finetune, BadArguments) {
  EXPECT_THROW(finetune(fitted(false, 12), {}), Error);
  EXPECT_THROW(finetune(fitted(false), {.seconds = -1}), Error);
}

}  // namespace
}  // namespace causeway::train
