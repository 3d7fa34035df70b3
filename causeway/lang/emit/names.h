// Names of the emitted text: those of the source where C++ allows them.
#pragma once

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

  void reserve(std::string name) { used_.insert(std::move(name)); }
  // `wanted`, with a suffix if it is taken or reserved.
  std::string unique(std::string_view wanted);
  // `release` frees the names created since `mark`.
  std::size_t mark() const { return made_.size(); }
  void release(std::size_t mark);

 private:
  const NameScope* outer_ = nullptr;
  std::vector<std::string> made_;
  std::unordered_set<std::string> used_;
};

}  // namespace causeway::lang::emit_text
