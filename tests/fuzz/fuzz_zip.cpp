// Fuzzes .npz files: any bytes are refused with a format error or accepted with entries that lie
// inside the input; what is accepted survives being written and read again.
#include "causeway/core/error.h"
#include "causeway/data/npy_header.h"
#include "causeway/data/zip.h"
#include "tests/fuzz/require.h"

#include <cstring>
#include <string>
#include <vector>

namespace zip = causeway::data::zip;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const causeway::data::Origin origin{"fuzz", "input.npz"};
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  std::string again;
  std::vector<zip::Entry> written;
  try {
    for (const zip::Entry& entry : zip::read_directory(origin, file)) {
      const std::span<const std::byte> content = zip::content(origin, file, entry);
      FUZZ_REQUIRE(content.size() == entry.size && content.size() <= size);
      FUZZ_REQUIRE(content.empty() || (content.data() >= file.data() &&
                                       content.data() + content.size() <= file.data() + size));
      written.push_back({entry.name, again.size(), entry.size, entry.crc});
      again += zip::header(written.back());
      again.append(reinterpret_cast<const char*>(content.data()), content.size());
      causeway::data::parse_npy_header(origin, content);
    }
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return 0;
  }
  again += zip::directory(written, again.size());
  const auto bytes = std::as_bytes(std::span(again));
  const std::vector<zip::Entry> read = zip::read_directory(origin, bytes);
  FUZZ_REQUIRE(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    FUZZ_REQUIRE(read[i].name == written[i].name && read[i].crc == written[i].crc);
    FUZZ_REQUIRE(zip::content(origin, bytes, read[i]).size() == written[i].size);
  }
  return 0;
}
