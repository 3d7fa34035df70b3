// Fuzzes the .npy header: any bytes are refused with a format error or accepted with ranges that
// lie inside the input; what is accepted survives being written and read again.
#include "causeway/data/npy_header.h"
#include "tests/fuzz/require.h"

#include <vector>

using causeway::data::NpyHeader;
using causeway::data::Origin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Origin origin{"fuzz", "input.npy"};
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  NpyHeader header;
  try {
    header = causeway::data::parse_npy_header(origin, file);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return 0;
  }
  FUZZ_REQUIRE(header.data_offset <= size);
  FUZZ_REQUIRE(header.n_bytes == size - header.data_offset);
  FUZZ_REQUIRE(header.n_bytes == static_cast<std::size_t>(causeway::numel(header.shape)) *
                                     causeway::size_of(header.dtype));
  causeway::contiguous_strides(header.shape);  // overflows under the sanitizer, if at all

  const std::string made = causeway::data::make_npy_header(header.dtype, header.shape);
  FUZZ_REQUIRE(made.size() % 64 == 0);
  const auto made_bytes = std::as_bytes(std::span(made));
  std::vector<std::byte> again(made_bytes.begin(), made_bytes.end());
  again.resize(made.size() + header.n_bytes);
  const NpyHeader second = causeway::data::parse_npy_header(origin, again);
  FUZZ_REQUIRE(second.dtype == header.dtype && second.shape == header.shape);
  FUZZ_REQUIRE(second.data_offset == made.size() && !second.fortran_order);
  return 0;
}
