// The names allocations are counted under, as numbers; 0 is the unnamed rest. Any thread may ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace causeway::memory_name {

// The name's number; the same one every time.
std::uint32_t id(std::string_view name);
std::string name(std::uint32_t id);

// What this thread's allocations are counted under (see MemoryScope).
std::uint32_t& current();

}  // namespace causeway::memory_name
