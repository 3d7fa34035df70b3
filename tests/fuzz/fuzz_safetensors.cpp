// Fuzzes the .safetensors header: any bytes are refused with a format error or accepted with
// entries that tile the data; what is accepted survives being written and read again.
#include "causeway/data/safetensors_header.h"
#include "tests/fuzz/require.h"

#include <vector>

using causeway::data::Origin;
using causeway::data::SafetensorsEntry;
using causeway::data::SafetensorsHeader;

namespace {

// Every entry begins where the one before it ends, and the last ends with the file.
void require_tiled(const SafetensorsHeader& header, std::size_t file_size) {
  FUZZ_REQUIRE(header.data_offset <= file_size);
  std::uint64_t reached = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    FUZZ_REQUIRE(entry.begin == reached && entry.begin <= entry.end);
    FUZZ_REQUIRE(entry.end - entry.begin ==
                 static_cast<std::uint64_t>(causeway::numel(entry.shape)) *
                     causeway::size_of(entry.dtype));
    causeway::contiguous_strides(entry.shape);  // overflows under the sanitizer, if at all
    reached = entry.end;
  }
  FUZZ_REQUIRE(reached == file_size - header.data_offset);
}

void require_round_trip(const Origin& origin, const SafetensorsHeader& header,
                        std::size_t n_data_bytes) {
  std::vector<SafetensorsEntry> entries = header.entries;
  causeway::data::place_entries(entries);
  const std::string made =
      causeway::data::make_safetensors_header(origin, entries, header.metadata);
  const auto made_bytes = std::as_bytes(std::span(made));
  std::vector<std::byte> again(made_bytes.begin(), made_bytes.end());
  again.resize(made.size() + n_data_bytes);
  const SafetensorsHeader second = causeway::data::parse_safetensors_header(origin, again);
  FUZZ_REQUIRE(second.metadata == header.metadata);
  FUZZ_REQUIRE(second.data_offset % 8 == 0 && second.entries.size() == entries.size());
  require_tiled(second, again.size());
  for (const SafetensorsEntry& entry : entries) {
    FUZZ_REQUIRE(entry.begin % causeway::size_of(entry.dtype) == 0);
  }
}

// Input that starts with JSON gets the length a file would have before it: the fuzzer then need not
// keep the two in step, and reaches more of the parser.
std::vector<std::byte> with_length(std::span<const std::byte> input) {
  std::size_t json_size = input.size();
  while (json_size > 0 && input[json_size - 1] != std::byte{'}'}) --json_size;
  std::vector<std::byte> file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(json_size >> (8 * i)));
  file.insert(file.end(), input.begin(), input.end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Origin origin{"fuzz", "input.safetensors"};
  std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  std::vector<std::byte> completed;
  if (!file.empty() && file[0] == std::byte{'{'}) file = completed = with_length(file);
  SafetensorsHeader header;
  try {
    header = causeway::data::parse_safetensors_header(origin, file);
  } catch (const causeway::Error& error) {
    FUZZ_REQUIRE(error.kind() == causeway::ErrorKind::format);
    return 0;
  }
  require_tiled(header, file.size());
  require_round_trip(origin, header, file.size() - header.data_offset);
  return 0;
}
