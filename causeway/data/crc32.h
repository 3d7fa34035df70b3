// The CRC-32 of zip files (polynomial 0xEDB88320) and the CRC-32C of TensorBoard's (0x82F63B78),
// eight bytes a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace causeway::data {

// Of `bytes`, after those that gave `before`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace causeway::data
