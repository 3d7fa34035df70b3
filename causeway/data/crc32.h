// CRC-32 of zip files (polynomial 0xEDB88320) and CRC-32C of TensorBoard files (0x82F63B78), eight
// bytes per iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace causeway::data {

// The checksum of `bytes` appended to data with checksum `before`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace causeway::data
