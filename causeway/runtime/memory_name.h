// Names under which allocations are counted, as ids. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace causeway::memory_name {

inline constexpr std::uint32_t kUnnamed = 0;     // "unnamed"
inline constexpr std::uint32_t kWorkspaces = 1;  // "workspaces": of kernels

// The id of a name; the same in every call.
std::uint32_t id(std::string_view name);
std::string name(std::uint32_t id);

// The id under which this thread's allocations are counted (see MemoryScope).
std::uint32_t& current();

// Counts the allocations of this thread as workspaces for the scope; cheaper than MemoryScope.
class WorkspaceScope {
 public:
  WorkspaceScope() : before_(std::exchange(current(), kWorkspaces)) {}
  ~WorkspaceScope() { current() = before_; }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

 private:
  std::uint32_t before_;
};

}  // namespace causeway::memory_name
