#include "causeway/data/sha256.h"

#include "causeway/data/sha256_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace causeway::data {

namespace {

constexpr std::size_t kBlock = 64;

void add_blocks(Sha256State& state, const std::byte* blocks, std::size_t n_blocks) {
  static const auto add = sha256_paths().front().add;
  add(state, blocks, n_blocks);
}

}  // namespace

void Sha256::add(std::span<const std::byte> bytes) {
  const std::size_t filled = n_bytes_ % kBlock;
  n_bytes_ += bytes.size();
  if (filled > 0) {
    const std::size_t taken = std::min(kBlock - filled, bytes.size());
    std::copy_n(bytes.data(), taken, pending_.data() + filled);
    if (filled + taken < kBlock) return;
    add_blocks(state_, pending_.data(), 1);
    bytes = bytes.subspan(taken);
  }
  add_blocks(state_, bytes.data(), bytes.size() / kBlock);
  bytes = bytes.subspan(bytes.size() / kBlock * kBlock);
  std::copy(bytes.begin(), bytes.end(), pending_.begin());
}

// Padding: a one bit, zeros up to 8 bytes before the end of a block, and the number of bits.
std::string Sha256::hex() {
  const std::uint64_t n_bits = n_bytes_ * 8;
  const std::size_t filled = n_bytes_ % kBlock;
  std::array<std::byte, kBlock + 8> end{std::byte{0x80}};
  const std::size_t n_zeros = (filled < 56 ? 56 : 56 + kBlock) - filled;
  for (std::size_t i = 0; i < 8; ++i) {
    end[n_zeros + i] = static_cast<std::byte>(n_bits >> (56 - 8 * i));
  }
  add(std::span(end).first(n_zeros + 8));
  std::string text;
  for (const std::uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace causeway::data
