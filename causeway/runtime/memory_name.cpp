#include "causeway/runtime/memory_name.h"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace causeway::memory_name {

namespace {

struct Table {
  std::mutex mutex;
  std::deque<std::string> names{"unnamed", "workspaces"};
  std::unordered_map<std::string, std::uint32_t> ids{{"unnamed", kUnnamed},
                                                     {"workspaces", kWorkspaces}};
};

Table& table() {
  static auto* table = new Table();  // outlives every buffer
  return *table;
}

}  // namespace

std::uint32_t id(std::string_view name) {
  Table& registry = table();
  const std::lock_guard lock(registry.mutex);
  const auto next = static_cast<std::uint32_t>(registry.names.size());
  const auto [place, fresh] = registry.ids.try_emplace(std::string(name), next);
  if (fresh) registry.names.emplace_back(name);
  return place->second;
}

std::string name(std::uint32_t id) {
  Table& registry = table();
  const std::lock_guard lock(registry.mutex);
  return registry.names[id];
}

std::uint32_t& current() {
  thread_local std::uint32_t current = kUnnamed;
  return current;
}

}  // namespace causeway::memory_name
