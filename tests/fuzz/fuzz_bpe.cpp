// Fuzzes tokenizer.json: the input is a file, a zero byte and a text. Any file is refused with a
// format error or gives a tokenizer; it refuses a text that is not UTF-8 and otherwise gives ids of
// its vocabulary that decode.
#include "causeway/core/error.h"
#include "causeway/data/bpe.h"
#include "causeway/data/utf8.h"
#include "tests/fuzz/require.h"

#include <optional>
#include <string_view>

using causeway::ErrorKind;
using causeway::data::BpeTokenizer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), size);
  const std::string_view text = input.substr(std::min(zero + 1, size));
  std::optional<BpeTokenizer> tokenizer;
  try {
    tokenizer.emplace(input.substr(0, zero), "input.json");
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == ErrorKind::format);
    return 0;
  }
  try {
    const auto ids = tokenizer->encode(text);
    FUZZ_REQUIRE(causeway::data::is_utf8(text));
    FUZZ_REQUIRE(ids.size() <= 4 * text.size() + 4);
    for (const auto id : ids) FUZZ_REQUIRE(id < tokenizer->vocabulary());
    tokenizer->decode(ids);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == ErrorKind::format && !causeway::data::is_utf8(text));
  }
  return 0;
}
