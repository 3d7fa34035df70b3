// Names of the emitted text: those of the source where C++ allows them.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace causeway::lang::emit_text {

// Keywords, CUDA's built-in variables and the functions that emitted text calls.
bool is_reserved(std::string_view name);

// A scope can be nested in another one, whose names it avoids.
class NameScope {
 public:
  NameScope() = default;
  explicit NameScope(const NameScope* outer) : outer_(outer) {}

  void reserve(std::string_view name) { used_.emplace(name); }
  // `wanted`, with a suffix if it is taken or reserved.
  std::string unique(std::string_view wanted);
  // `release` frees the names created since `mark`.
  std::size_t mark() const { return made_.size(); }
  void release(std::size_t mark);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };
  using Names = std::pmr::unordered_set<std::pmr::string, Hash, std::equal_to<>>;

  bool is_taken(std::string_view name) const;

  const NameScope* outer_ = nullptr;
  std::array<std::byte, 4096> buffer_;  // enough for most programs
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
  Names used_{&memory_};
  std::pmr::vector<const std::pmr::string*> made_{&memory_};  // in used_
};

}  // namespace causeway::lang::emit_text
