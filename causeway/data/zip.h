// Zip archives of uncompressed files with 64-bit sizes: headers and directory, and reading the
// directory with every range checked.
#pragma once

#include "causeway/data/input_check.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace causeway::data::zip {

struct Entry {
  std::string name;
  std::uint64_t offset = 0;  // of its header
  std::uint64_t size = 0;    // of its content, which follows the header
  std::uint32_t crc = 0;
};

// The local header of an entry; its length does not depend on size and crc.
std::string header(const Entry& entry);
// Offset of the crc in `header`.
inline constexpr std::size_t kCrcOffset = 14;

// The directory that follows the last entry, at `offset`.
std::string directory(std::span<const Entry> entries, std::uint64_t offset);

// The entries of an archive. Throws format errors if it is damaged, truncated or compressed.
std::vector<Entry> read_directory(const Origin& origin, std::span<const std::byte> file);

// The content of an entry; checks its crc.
std::span<const std::byte> content(const Origin& origin, std::span<const std::byte> file,
                                   const Entry& entry);

}  // namespace causeway::data::zip
