// The reference lists every builtin as the table has it.
#include "causeway/lang/builtins/table.h"
#include "tests/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

using namespace causeway::lang;

TEST(LangDocs, ReferenceListsTheBuiltins) {
  const std::filesystem::path root = causeway::test::test_folder().parent_path();
  std::ifstream stream(root / "docs/kernel-language.md");
  std::stringstream text;
  text << stream.rdbuf();
  std::string expected;
  std::string_view group;
  for (const Builtin& builtin : builtins()) {
    if (builtin.group != group)
      expected +=
          "\n### " + std::string(builtin.group) + "\n\n| builtin | signature |\n|---|---|\n";
    group = builtin.group;
    std::string signature;
    for (const char c : builtin.signature)
      signature += c == '|' ? std::string("or") : std::string(1, c);
    expected += "| `" + std::string(builtin.name) + "` | `" + signature + "` |\n";
  }
  EXPECT_NE(text.str().find(expected), std::string::npos) << expected;
}

TEST(LangBuiltins, TableAndPreludeAgree) {
  EXPECT_GE(builtins().size(), 120U);
  std::set<std::string_view> names;
  for (const Builtin& builtin : builtins()) {
    EXPECT_TRUE(names.insert(builtin.name).second) << builtin.name << " is listed twice";
    if (builtin.form == BuiltinForm::prelude) {
      EXPECT_FALSE(prelude_functions(builtin.name).empty()) << builtin.name;
    }
    EXPECT_EQ(find_builtin(builtin.name), &builtin);
  }
  EXPECT_EQ(find_builtin("nothing"), nullptr);
}

}  // namespace
