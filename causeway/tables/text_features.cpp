#include "causeway/tables/text_features.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace causeway::tables {

namespace {

// FNV-1a, then the last step of splitmix64, which mixes all bits.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t word = 0xcbf29ce484222325u;
  for (const char c : text) word = (word ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

// Letters, digits, and all bytes of characters beyond ASCII.
bool is_part_of_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z');
}

}  // namespace

void text_features(std::string_view text, std::span<double, kTextFeatures> out) {
  std::fill(out.begin(), out.end(), 0.0);
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  double n_grams = 0;
  const auto add = [&](std::string_view gram) {
    const std::uint64_t bits = hash_of(gram);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += (bits >> i & 1) != 0 ? 1 : -1;
    ++n_grams;
  };
  for (auto begin = lower.begin(); begin != lower.end();) {
    begin = std::find_if(begin, lower.end(), is_part_of_word);
    const auto end = std::find_if_not(begin, lower.end(), is_part_of_word);
    if (begin == end) break;
    // The space before the word marks its beginning, the second one separates words from trigrams.
    const std::string word = " " + std::string(begin, end) + " ";
    add(word + " ");
    for (std::size_t i = 0; i + 3 <= word.size(); ++i) add(std::string_view(word).substr(i, 3));
    begin = end;
  }
  for (double& value : out) value /= std::sqrt(std::max(n_grams, 1.0));
}

}  // namespace causeway::tables
