// Tables that scripts/generate-unicode writes; the files of their definitions describe the entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace causeway::data {

extern const std::uint32_t kCategoryRanges[];
extern const std::size_t kCategoryRangesSize;
extern const std::uint32_t kCompositions[];
extern const std::size_t kCompositionsSize;
extern const std::uint32_t kDecompositions[];
extern const std::size_t kDecompositionsSize;
extern const std::uint32_t kCombiningClasses[];
extern const std::size_t kCombiningClassesSize;

}  // namespace causeway::data
