// Fuzzes the manifest of a dump: any text is refused with a format error, or accepted and reads
// back as itself.
#include "causeway/core/error.h"
#include "causeway/train/manifest.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using causeway::train::Manifest;
  const causeway::fuzz::InputFile input(data, size, ".json");
  try {
    const std::optional<Manifest> manifest = Manifest::load(input.path());
    FUZZ_REQUIRE(manifest.has_value());
    FUZZ_REQUIRE(manifest->n_batches() == static_cast<std::int64_t>(manifest->batches.size()));
    manifest->save(input.path());
    FUZZ_REQUIRE(Manifest::load(input.path())->difference(*manifest).empty());
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
  }
  return 0;
}
