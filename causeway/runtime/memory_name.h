// Names under which allocations are counted, as ids; id 0 is "unnamed". Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway::memory_name {

// The id of a name; the same in every call.
std::uint32_t id(std::string_view name);
std::string name(std::uint32_t id);

// The id under which this thread's allocations are counted (see MemoryScope).
std::uint32_t& current();

}  // namespace causeway::memory_name
