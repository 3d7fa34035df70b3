#include "causeway/pairs/generate.h"

#include "causeway/core/error.h"
#include "causeway/core/nearest.h"
#include "causeway/pairs/generate/plans.h"

namespace causeway::pairs {

namespace {

constexpr std::string_view kNames[kCategories] = {"arithmetic",   "math",   "vector", "matrix",
                                                  "control_flow", "atomic", "memory", "reduction",
                                                  "function",     "launch", "mixed"};

}  // namespace

std::string_view name_of(Category category) { return kNames[static_cast<int>(category)]; }

Program generate(Category category, int level, std::uint64_t seed) {
  Dice dice(seed);
  Builder builder(dice.next(), level, profile_of(category, dice));
  const auto plan = [&] {
    switch (category) {
      case Category::arithmetic:
      case Category::math: return plan_elementwise(builder, category);
      case Category::vector:
      case Category::matrix: return plan_composite(builder, category);
      case Category::control_flow: return plan_control_flow(builder);
      case Category::atomic: return plan_atomic(builder);
      case Category::memory: return plan_memory(builder);
      case Category::reduction: return plan_reduction(builder);
      case Category::function: return plan_function(builder);
      case Category::launch: return plan_launch(builder);
      case Category::mixed: break;
    }
    return plan_mixed(builder);
  };
  Program program = plan();
  program.seed = seed;
  return program;
}

}  // namespace causeway::pairs
