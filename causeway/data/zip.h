// The bytes of a zip archive around files that are stored as they are, with 64-bit sizes
// throughout, and the directory of such an archive read with every range checked.
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

// What stands before an entry's content; its length does not depend on size and crc.
std::string header(const Entry& entry);
// Where `header` keeps the crc.
inline constexpr std::size_t kCrcOffset = 14;

// What stands behind the last content, at `offset`.
std::string directory(std::span<const Entry> entries, std::uint64_t offset);

// The entries of an archive. Throws format errors for what is damaged, cut off or compressed.
std::vector<Entry> read_directory(const Origin& origin, std::span<const std::byte> file);

// An entry's content, its crc checked.
std::span<const std::byte> content(const Origin& origin, std::span<const std::byte> file,
                                   const Entry& entry);

}  // namespace causeway::data::zip
