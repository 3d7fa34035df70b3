// Fuzzes the configurations in model files. Any text is refused with a format or invalid_argument
// error; what is accepted is written and read again as the same text, and its sizes do not
// overflow.
#include "causeway/core/error.h"
#include "causeway/models/gpt_config.h"
#include "causeway/models/tabular.h"
#include "tests/fuzz/require.h"

#include <string>
#include <string_view>

namespace {

template <class Config>
void read_config(std::string_view text) {
  Config config;
  try {
    config = Config::from_json(text);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format ||
                 error.kind() == causeway::ErrorKind::invalid_argument);
    return;
  }
  const std::string written = config.to_json();
  FUZZ_REQUIRE(Config::from_json(written).to_json() == written);
  FUZZ_REQUIRE(config.n_parameters() > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_config<causeway::models::TabularConfig>(text);
  read_config<causeway::models::GptConfig>(text);
  return 0;
}
