// Fuzzes the fields of CSV files: any bytes are read to the end or refused with a message, every
// field lies within its record, and what is written with quotes reads back as itself.
#include "causeway/data/csv_fields.h"
#include "causeway/data/utf8.h"
#include "tests/fuzz/require.h"

#include <string>
#include <vector>

namespace csv = causeway::csv;

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) result += letter == '"' ? "\"\"" : std::string(1, letter);
  return result + "\"";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  csv::FieldReader fields(text, ',', 1);
  std::vector<std::vector<std::string>> records(1);
  while (!fields.at_end()) {
    std::string_view field;
    bool last = false;
    std::string problem;
    const std::size_t before = fields.position();
    if (!fields.next(field, last, problem)) {
      FUZZ_REQUIRE(!problem.empty());
      return 0;
    }
    FUZZ_REQUIRE(fields.position() > before && field.size() <= size);
    double number;
    bool truth;
    std::int64_t time;
    const std::string_view cell = csv::trimmed(field);
    if (csv::parse_number(cell, number)) FUZZ_REQUIRE(!cell.empty());
    csv::parse_boolean(cell, truth);
    csv::parse_time(cell, time);
    causeway::data::is_utf8(field);
    records.back().emplace_back(field);
    if (last) records.emplace_back();
  }
  FUZZ_REQUIRE(csv::record_end(text, 0, false) <= size);
  std::string again;
  for (const auto& record : records) {
    for (std::size_t i = 0; i < record.size(); ++i) again += (i > 0 ? "," : "") + quoted(record[i]);
    if (!record.empty()) again += "\n";
  }
  csv::FieldReader second(again, ',', 1);
  for (const auto& record : records) {
    for (const std::string& want : record) {
      std::string_view field;
      bool last = false;
      std::string problem;
      FUZZ_REQUIRE(second.next(field, last, problem) && field == want);
    }
  }
  return 0;
}
