#include "causeway/data/crc32.h"

#include <array>
#include <cstring>

namespace causeway::data {

namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Table t is for a byte that is followed by t more bytes.
constexpr Tables make_tables(std::uint32_t polynomial) {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? polynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t t = 1; t < tables.size(); ++t) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[t - 1][byte];
      tables[t][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kZip = make_tables(0xEDB88320u);
constexpr Tables kCastagnoli = make_tables(0x82F63B78u);

std::uint32_t checksum(const Tables& tables, std::span<const std::byte> bytes,
                       std::uint32_t before) {
  std::uint32_t value = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t eight;
    std::memcpy(&eight, bytes.data(), 8);
    eight ^= value;
    value = 0;
    for (std::size_t i = 0; i < 8; ++i) value ^= tables[7 - i][(eight >> (8 * i)) & 0xff];
  }
  for (const std::byte byte : bytes) {
    value = (value >> 8) ^ tables[0][(value ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  }
  return ~value;
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return checksum(kZip, bytes, before);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  return checksum(kCastagnoli, bytes, before);
}

}  // namespace causeway::data
