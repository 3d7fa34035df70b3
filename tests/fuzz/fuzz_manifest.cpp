// Fuzzes the manifest of checkpoints. The input gets a correct SHA-256, so that its other fields
// are read. Any text is refused with a format error, or accepted and reads back as itself.
#include "causeway/core/error.h"
#include "causeway/data/sha256.h"
#include "causeway/train/checkpoint_manifest.h"
#include "tests/fuzz/require.h"

#include <cmath>
#include <span>
#include <string>

namespace {

constexpr std::size_t kDigits = 64;
constexpr std::string_view kAfterHash = "\"\n}\n";

std::string with_hash(std::string text) {
  if (!text.ends_with(kAfterHash) || text.size() < kDigits + kAfterHash.size()) return text;
  const std::size_t at = text.size() - kAfterHash.size() - kDigits;
  text.replace(at, kDigits, kDigits, '0');
  return text.replace(at, kDigits, causeway::data::sha256(std::as_bytes(std::span(text))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using causeway::train::CheckpointManifest;
  const std::string text = with_hash({reinterpret_cast<const char*>(data), size});
  CheckpointManifest manifest;
  try {
    manifest = CheckpointManifest::parse("manifest.json", text);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return 0;
  }
  for (const CheckpointManifest::File& file : manifest.files) {
    FUZZ_REQUIRE(causeway::train::is_set_name(file.set));
  }
  const CheckpointManifest again = CheckpointManifest::parse("again", manifest.to_text());
  FUZZ_REQUIRE(again.step == manifest.step && again.files.size() == manifest.files.size());
  FUZZ_REQUIRE(again.configuration == manifest.configuration);
  return 0;
}
