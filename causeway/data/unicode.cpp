#include "causeway/data/unicode.h"

#include "causeway/data/unicode_tables.h"

#include <array>
#include <vector>

namespace causeway::data {

namespace {

constexpr char32_t kCodePoints = 0x110000;
constexpr int kCategories = static_cast<int>(Category::Cn) + 1;
constexpr std::array<std::string_view, kCategories> kNames{
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

// One byte per code point: a lookup is one load.
std::vector<Category> expand() {
  std::vector<Category> table(kCodePoints);
  for (std::size_t i = 0; i < kCategoryRangesSize; ++i) {
    const bool is_last = i + 1 == kCategoryRangesSize;
    const char32_t end = is_last ? kCodePoints : kCategoryRanges[i + 1] >> 5;
    for (char32_t at = kCategoryRanges[i] >> 5; at < end; ++at)
      table[at] = static_cast<Category>(kCategoryRanges[i] & 31);
  }
  return table;
}

}  // namespace

Category category_of(char32_t code_point) {
  static const std::vector<Category> table = expand();
  return code_point < kCodePoints ? table[code_point] : Category::Cn;
}

bool is_space(char32_t code_point) {
  if (code_point < 0x80) return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
  constexpr CategoryMask kSeparators =
      mask_of(Category::Zs) | mask_of(Category::Zl) | mask_of(Category::Zp);
  return code_point == 0x85 || (mask_of(category_of(code_point)) & kSeparators) != 0;
}

std::optional<CategoryMask> categories_named(std::string_view name) {
  CategoryMask mask = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i] || (name.size() == 1 && kNames[i].starts_with(name)))
      mask |= CategoryMask{1} << i;
  }
  return mask == 0 ? std::nullopt : std::optional(mask);
}

}  // namespace causeway::data
