// Numbers for free text: hashed n-grams, reduced by a random projection.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace causeway::tables {

inline constexpr std::int64_t kTextFeatures = 16;

// Writes kTextFeatures numbers. Words and the trigrams of their letters, without regard to the case
// of ASCII letters, are projected to directions that a hash draws, and the sum is divided by the
// square root of their number: texts that share words have similar numbers.
void text_features(std::string_view text, std::span<double, kTextFeatures> out);

}  // namespace causeway::tables
