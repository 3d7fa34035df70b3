// The only test file whose object depends on where the repository is, so that clones can share a
// compiler cache.
#include "tests/files.h"

namespace causeway::test {

std::filesystem::path test_folder() { return CAUSEWAY_TEST_FOLDER; }

}  // namespace causeway::test
