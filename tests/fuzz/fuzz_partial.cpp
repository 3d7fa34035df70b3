// Fuzzes parts of tokenizer fits (.cwp): any bytes are refused with a format error or accepted as a
// part, whose state reads back.
#include "causeway/core/error.h"
#include "causeway/data/safetensors.h"
#include "causeway/tokenizer/streaming/streaming.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using causeway::tokenizer::PartialFit;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const causeway::SafetensorsFile file = causeway::read_safetensors(bytes);
    const PartialFit part = PartialFit::from_state({file.tensors, file.metadata}, "input.cwp");
    FUZZ_REQUIRE(PartialFit::from_state(part.state(), "again").n_seen() == part.n_seen());
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
  }
  return 0;
}
