#include "causeway/train/recipe.h"

#include "causeway/core/error.h"
#include "causeway/models/model_file.h"
#include "causeway/models/tabular_file.h"
#include "causeway/train/pretrain_config.h"

#include <gtest/gtest.h>

#include <string>

namespace causeway::train {
namespace {

PretrainSettings resolve(const std::string& given) {
  return resolve_settings("{}", given, Device::cpu());
}

TEST(Recipe, AllAreValidAndEndByTheirSteps) {
  for (const std::string& name : recipe_names()) {
    const PretrainSettings settings = resolve(R"({"recipe": ")" + name + R"("})");
    EXPECT_EQ(settings.run.seconds, 0) << name;
    EXPECT_GT(settings.run.steps, 0) << name;
    if (name == "none") continue;
    EXPECT_EQ(settings.config.schedule.total, settings.run.steps) << name;
  }
}

TEST(Recipe, OptionsOverrideIt) {
  const PretrainSettings settings = resolve(
      R"({"recipe": "classifier", "width": 96, "features": "1:40", "steps": 100, "seed": 7})");
  EXPECT_EQ(settings.config.model.width, 96);
  EXPECT_EQ(settings.config.model.hidden, 576);
  EXPECT_EQ(settings.config.prior.features.high, 40);
  EXPECT_EQ(settings.run.steps, 100);
  EXPECT_EQ(settings.config.schedule.total, 100);
  EXPECT_EQ(settings.config.prior.seed, 7u);
}

TEST(Recipe, UnknownNamesAreRefused) {
  EXPECT_THROW(resolve(R"({"recipe": "clasifier"})"), Error);
  EXPECT_THROW(recipe_settings("clasifier"), Error);
}

}  // namespace
}  // namespace causeway::train
