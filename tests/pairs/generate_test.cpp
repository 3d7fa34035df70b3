// Random programs: valid by construction, reproducible, and as different as they claim to be.
#include "causeway/pairs/generate.h"

#include "causeway/pairs/record.h"
#include "causeway/pairs/structure.h"
#include "causeway/pairs/verify.h"

#include <gtest/gtest.h>

#include <set>

namespace causeway::pairs {
namespace {

TEST(PairsGenerate, EveryCategoryAndLevelGivesValidPrograms) {
  int constant = 0;
  int total = 0;
  for (int c = 0; c < kCategories; ++c) {
    for (int level = 1; level <= kLevels; ++level) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Program program = generate(static_cast<Category>(c), level, seed * 1000 + 7);
        SCOPED_TRACE(program.source);
        const Compiled compiled = compile_program(program);
        ASSERT_GE(compiled.kernel, 0);
        ++total;
        for (const InputSet& set : input_sets(program)) {
          Verification verification;
          run_program(program, set, compiled.module, compiled.kernel, verification);
          constant += verification.rejection == Rejection::constant ? 1 : 0;
          ASSERT_TRUE(verification.rejection == Rejection::none ||
                      verification.rejection == Rejection::constant)
              << name_of(verification.rejection) << ": " << verification.detail;
        }
      }
    }
  }
  EXPECT_LT(constant, total / 6);  // those are rejected later
}

TEST(PairsGenerate, SeedsAreReproducible) {
  for (int c = 0; c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    EXPECT_EQ(generate(category, 3, 42).source, generate(category, 3, 42).source);
    EXPECT_NE(generate(category, 3, 42).source, generate(category, 3, 43).source);
  }
}

TEST(PairsGenerate, HarderLevelsAreLonger) {
  const auto mean_length = [](int level) {
    std::size_t sum = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
      sum += generate(static_cast<Category>(seed % kCategories), level, seed).source.size();
    return sum / 200;
  };
  EXPECT_GT(mean_length(5), mean_length(1) * 5 / 4);
}

TEST(PairsGenerate, CategoriesHaveTheirConstructs) {
  const auto share_with = [](Category category, std::initializer_list<const char*> words) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const std::string source = generate(category, 3, seed).source;
      for (const char* word : words) {
        if (source.find(word) == std::string::npos) continue;
        ++found;
        break;
      }
    }
    return found;
  };
  EXPECT_EQ(share_with(Category::atomic, {"wp.atomic_", "] += "}), 100);
  EXPECT_EQ(share_with(Category::control_flow, {"if ", "for ", "while "}), 100);
  EXPECT_EQ(share_with(Category::vector, {"wp.vec"}), 100);
  EXPECT_EQ(share_with(Category::reduction, {"for "}), 100);
  EXPECT_EQ(share_with(Category::function, {"@wp.func", "@wp.struct"}), 100);
  EXPECT_EQ(share_with(Category::launch, {", j = wp.tid()", ", col = wp.tid()", ", k = wp.tid()",
                                          ", z = wp.tid()", ", l = wp.tid()", ", w = wp.tid()"}),
            100);
}

Structure structure(const std::string& source) {
  Program program;
  program.source = source;
  program.kernel = "k";
  const Compiled compiled = compile_program(program);
  return structure_of(source, compiled.module, compiled.function());
}

TEST(PairsStructure, NamesAndConstantsDoNotMatter) {
  const std::string source =
      "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), a: float, y: "
      "wp.array(dtype=float)):\n"
      "    \"\"\"Adds.\"\"\"\n    i = wp.tid()\n    y[i] = a * x[i] + 2.5\n";
  std::string renamed = source;
  for (std::size_t at = renamed.find("x"); at != std::string::npos; at = renamed.find("x", at + 5))
    renamed.replace(at, 1, "input");
  renamed.replace(renamed.find("2.5"), 3, "0.75");
  renamed.replace(renamed.find("Adds."), 5, "Something else.");
  std::string changed = source;
  changed.replace(changed.find(" + 2.5"), 6, " - 2.5");
  const Structure a = structure(source);
  EXPECT_EQ(a.key, structure(renamed).key);
  EXPECT_EQ(a.text, structure(renamed).text);
  EXPECT_EQ(similarity(a, structure(renamed)), 1.0);
  EXPECT_NE(a.key, structure(changed).key);
  EXPECT_NE(a.text, structure(changed).text);
  EXPECT_GT(similarity(a, structure(changed)), 0.5);

  StructureIndex index;
  EXPECT_EQ(index.add(a), Rejection::none);
  EXPECT_EQ(index.add(structure(renamed)), Rejection::duplicate);
}

TEST(PairsStructure, SplitsHaveTheirShares) {
  int counts[3] = {};
  for (std::uint64_t i = 0; i < 20000; ++i) {
    Structure structure;
    structure.cluster = i * 977;
    ++counts[static_cast<int>(structure.split())];
  }
  EXPECT_NEAR(counts[0], 18000, 200);
  EXPECT_NEAR(counts[1], 1000, 150);
  EXPECT_NEAR(counts[2], 1000, 150);
}

TEST(PairsVerify, RejectsWhatIsNotFiniteOutOfRangeOrConstant) {
  Program program;
  program.kernel = "k";
  program.source =
      "import warp as wp\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: "
      "wp.array(dtype=float)):\n"
      "    i = wp.tid()\n    y[i] = 1.0 / (x[i] - x[i])\n";
  program.symbols = {{}};
  program.dims = {{0}};
  Parameter x;
  x.name = "x";
  x.array = true;
  x.shape = {{0}};
  x.low = -1;
  x.high = 1;
  Parameter y = x;
  y.name = "y";
  y.written = true;
  y.fill = Fill::constant;
  y.low = y.high = 0;
  program.parameters = {x, y};
  const Compiled compiled = compile_program(program);
  Verification verification;
  run_program(program, input_sets(program)[0], compiled.module, compiled.kernel, verification);
  EXPECT_EQ(verification.rejection, Rejection::not_finite);

  program.source.replace(program.source.find("1.0 / (x[i] - x[i])"), 19, "wp.sin(x[i + 1])");
  const Compiled outside = compile_program(program);
  verification = {};
  run_program(program, input_sets(program)[0], outside.module, outside.kernel, verification);
  EXPECT_EQ(verification.rejection, Rejection::failed);
  EXPECT_NE(verification.detail.find("index"), std::string::npos) << verification.detail;

  program.source.replace(program.source.find("wp.sin(x[i + 1])"), 16, "0.5");
  const Compiled same = compile_program(program);
  verification = {};
  run_program(program, input_sets(program)[0], same.module, same.kernel, verification);
  EXPECT_EQ(verification.rejection, Rejection::constant);
}

}  // namespace
}  // namespace causeway::pairs
