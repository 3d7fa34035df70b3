// FNV-1a hashes of file contents, to detect edits and damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace causeway::tokenizer {

class Hash {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3ull;
  }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    add(text.data(), text.size());
  }
  void add(std::int64_t number) { add(&number, sizeof(number)); }
  void add(const std::vector<double>& values) {
    add(static_cast<std::int64_t>(values.size()));
    add(values.data(), values.size() * sizeof(double));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

}  // namespace causeway::tokenizer
