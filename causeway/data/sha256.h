// SHA-256 (FIPS 180-4), used to detect damaged files; the same as sha256sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace causeway::data {

class Sha256 {
 public:
  // Appends bytes to the message.
  void add(std::span<const std::byte> bytes);
  // The digest as 64 hexadecimal digits. Nothing may be added afterwards.
  std::string hex();

 private:
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_;
  std::uint64_t n_bytes_ = 0;
};

std::string sha256(std::span<const std::byte> bytes);

}  // namespace causeway::data
