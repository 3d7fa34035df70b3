// Fuzzes configuration files: any TOML is refused with a format error or read as an object.
#include "causeway/core/config.h"
#include "causeway/core/error.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const causeway::fuzz::InputFile file(data, size, ".toml");
  try {
    FUZZ_REQUIRE(causeway::read_config_file("fuzz", file.path()).is_object());
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
  }
  return 0;
}
