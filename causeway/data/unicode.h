// General categories of Unicode 16.0, as \p{L} and \s of regular expressions need them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace causeway::data {

// clang-format off
enum class Category : std::uint8_t {
  Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po,
  Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co, Cn,
};
// clang-format on

// A set of categories: bit i is category i.
using CategoryMask = std::uint32_t;

constexpr CategoryMask mask_of(Category category) {
  return CategoryMask{1} << static_cast<int>(category);
}

Category category_of(char32_t code_point);

// White_Space of Unicode: \s.
bool is_space(char32_t code_point);

// The categories of a name such as "L" or "Lu"; nullopt if there is none.
std::optional<CategoryMask> categories_named(std::string_view name);

}  // namespace causeway::data
