// Where tests find their files.
#pragma once

#include <filesystem>

namespace causeway::test {

std::filesystem::path test_folder();

}  // namespace causeway::test
