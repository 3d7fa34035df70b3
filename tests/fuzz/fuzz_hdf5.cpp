// Fuzzes HDF5 dumps: any bytes are refused with a format or io error, or open with arrays whose
// first entry can be read or is refused.
#include "causeway/core/error.h"
#include "causeway/data/hdf5.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const causeway::fuzz::InputFile file(data, size, ".h5");
  try {
    const auto arrays = causeway::data::open_hdf5("fuzz", file.path());
    const causeway::data::ArrayLayout layout = arrays->layout();
    for (const causeway::data::ArrayColumn& column : layout.columns) {
      FUZZ_REQUIRE(!column.name.empty());
      if (layout.n_entries > 0 && causeway::numel(column.entry) < 1 << 20) {
        arrays->read(column.name, 0, 1);
      }
    }
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format ||
                 error.kind() == causeway::ErrorKind::io);
  }
  return 0;
}
