// Numbers with a unit, as options accept them: 10k, 1.5m, 4GiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace causeway {

// A whole number, or one with a unit: k, m, g, t or kB, MB, GB, TB for powers of 1000, KiB, MiB,
// GiB, TiB for powers of 1024. Case does not matter. Empty for anything else, for a result that is
// not whole ("1.2345k"), and above 2^63 - 1.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace causeway
