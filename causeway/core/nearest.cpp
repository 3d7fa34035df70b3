#include "causeway/core/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace causeway {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Edit distance: insertions, deletions, substitutions and swaps of adjacent letters.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t cost = lower(a[i]) == lower(b[j]) ? 0 : 1;
      next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + cost});
      const bool swapped =
          i > 0 && j > 0 && lower(a[i]) == lower(b[j - 1]) && lower(a[i - 1]) == lower(b[j]);
      if (swapped) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view text, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 64;  // longer text is not a misspelling
  if (text.size() > kLongest) return "";
  std::string best;
  std::size_t least = std::max<std::size_t>(1, std::min<std::size_t>(text.size() / 2, 3)) + 1;
  for (const std::string& name : names) {
    const std::size_t edits = distance(text, name);
    if (edits < least) {
      least = edits;
      best = name;
    }
  }
  return best;
}

}  // namespace causeway
