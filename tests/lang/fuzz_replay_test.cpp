// The stored inputs of the fuzz targets, and mutations of them, in the ordinary tests.
#include "causeway/lang/adjoint/adjoint.h"
#include "causeway/lang/compile.h"
#include "causeway/lang/emit/emit.h"
#include "causeway/lang/interpret/interpreter.h"
#include "causeway/lang/ir/ir.h"
#include "tests/files.h"
#include "tests/fuzz/require.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace fuzz_text {
#define LLVMFuzzerTestOneInput fuzz_lang_once
#include "tests/fuzz/fuzz_lang.cpp"
#undef LLVMFuzzerTestOneInput
}  // namespace fuzz_text

namespace fuzz_ir {
#define LLVMFuzzerTestOneInput fuzz_lang_ir_once
#include "tests/fuzz/fuzz_lang_ir.cpp"
#undef LLVMFuzzerTestOneInput
}  // namespace fuzz_ir

namespace {

std::vector<std::string> seeds(const std::string& name) {
  std::vector<std::string> result;
  const auto folder = causeway::test::test_folder() / "fuzz/corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path());
    result.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return result;
}

// Deletes, repeats and replaces pieces; seeded, so that a failure can be repeated.
std::string mutated(const std::string& seed, const std::string& other, std::mt19937& random) {
  std::string text = seed;
  for (unsigned n = random() % 4 + 1; n > 0 && !text.empty(); --n) {
    const std::size_t at = random() % text.size();
    const std::size_t length = std::min<std::size_t>(random() % 12 + 1, text.size() - at);
    switch (random() % 4) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(at, length)); break;
      case 2: text[at] = static_cast<char>(random()); break;
      default: text.insert(at, other.substr(random() % (other.size() + 1), length)); break;
    }
  }
  return text;
}

template <class Target>
void replay(const std::string& name, Target target, int n_mutations) {
  const std::vector<std::string> all = seeds(name);
  ASSERT_GT(all.size(), 10U);
  std::mt19937 random(7);
  for (const std::string& seed : all)
    target(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size());
  for (int i = 0; i < n_mutations; ++i) {
    const std::string text =
        mutated(all[random() % all.size()], all[random() % all.size()], random);
    target(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}

TEST(LangFuzz, TextReplays) { replay("lang", fuzz_text::fuzz_lang_once, 3000); }
TEST(LangFuzz, IrReplays) { replay("lang_ir", fuzz_ir::fuzz_lang_ir_once, 3000); }

}  // namespace
