// The blocks of SHA-256, by the instructions of the machine where it has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace causeway::data {

using Sha256State = std::array<std::uint32_t, 8>;

struct Sha256Path {
  const char* name;
  // Adds n_blocks blocks of 64 bytes.
  void (*add)(Sha256State& state, const std::byte* blocks, std::size_t n_blocks);
};

// The paths that this machine can run, the fastest first; the last is plain C++.
std::span<const Sha256Path> sha256_paths();

}  // namespace causeway::data
