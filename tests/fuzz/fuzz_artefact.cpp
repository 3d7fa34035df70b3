// Fuzzes the tokenizer's artefact: any bytes are refused with a format error, or accepted with
// columns that make sense and survive being written and read again.
#include "causeway/core/error.h"
#include "causeway/tokenizer/artefact/artefact.h"
#include "tests/fuzz/require.h"

#include <string>

using namespace causeway::tokenizer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Artefact artefact;
  try {
    artefact = read_artefact(text, "input.json");
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return 0;
  }
  for (const Column& column : artefact.columns) {
    if (column.kind != ColumnKind::numeric) continue;
    FUZZ_REQUIRE(column.bins.n_bins() >= 1);
    for (std::size_t i = 1; i < column.bins.edges.size(); ++i) {
      FUZZ_REQUIRE(column.bins.edges[i] >= column.bins.edges[i - 1]);
    }
    (void)thresholds_of<float>(column.bins);
    (void)thresholds_of<std::int64_t>(column.bins);
  }
  artefact.offsets.assign(artefact.columns.size(), 0);
  const std::string written = write_artefact(artefact);
  Artefact again = read_artefact(written, "again.json");
  again.offsets = artefact.offsets;
  FUZZ_REQUIRE(write_artefact(again) == written);
  return 0;
}
