// Fuzzes whole CSV files, which threads parse in chunks: any bytes are refused with a format error,
// or give the same rows in batches of a few bytes as at once.
#include "causeway/core/error.h"
#include "causeway/data/csv.h"
#include "tests/fuzz/require.h"

#include <optional>
#include <string>

namespace {

// The number of rows; nullopt if the text is refused.
std::optional<std::int64_t> count_rows(std::string_view text, std::size_t batch_bytes) {
  causeway::CsvOptions options;
  options.batch_bytes = batch_bytes;
  std::int64_t n_rows = 0;
  try {
    causeway::CsvReader reader("input.csv", text, options);
    for (causeway::CsvBatch batch; reader.next(batch);) {
      for (const causeway::CsvColumn& column : batch.columns) {
        const bool is_text = column.text != nullptr;
        FUZZ_REQUIRE(is_text ? std::ssize(column.text->offsets) == batch.n_rows + 1
                             : column.numbers.numel() == batch.n_rows);
      }
      n_rows += batch.n_rows;
    }
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return std::nullopt;
  }
  return n_rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = count_rows(text, std::size_t{1} << 20);
  if (whole.has_value()) FUZZ_REQUIRE(count_rows(text, 16) == whole);
  return 0;
}
