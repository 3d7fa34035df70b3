// Fuzzes templates and lines of JSON: the input is a template, a line feed and a line. A template
// is refused with invalid_argument; a line with one line of text, or it has every field of the
// template.
#include "causeway/core/error.h"
#include "causeway/data/document_reader.h"
#include "causeway/data/utf8.h"
#include "tests/fuzz/require.h"

#include <optional>
#include <string_view>

using namespace causeway::data;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), size);
  std::optional<TextTemplate> text_template;
  try {
    text_template.emplace(input.substr(0, end), "answer");
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::invalid_argument);
    return 0;
  }
  std::vector<std::string> values;
  const std::string problem =
      read_json_fields(input.substr(std::min(end + 1, size)), text_template->fields(), values);
  FUZZ_REQUIRE(problem.find('\n') == std::string::npos && is_utf8(problem));
  if (!problem.empty()) return 0;
  FUZZ_REQUIRE(values.size() == text_template->fields().size());
  std::size_t longest = input.size();
  for (const std::string& value : values) {
    FUZZ_REQUIRE(is_utf8(value));
    longest += value.size() * size;
  }
  TextDocument document;
  text_template->fill(values, document);
  FUZZ_REQUIRE(document.prompt.size() + document.text.size() <= longest);
  return 0;
}
