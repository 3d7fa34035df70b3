#include "causeway/data/nfc.h"

#include "causeway/data/unicode_tables.h"
#include "causeway/data/utf8.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace causeway::data {

namespace {

// Hangul syllables are composed of jamo by arithmetic.
constexpr char32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11A7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;  // the first tail is none
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

struct NormalizationTables {
  using Pair = std::array<char32_t, 2>;
  std::unordered_map<char32_t, Pair> decompositions;
  std::unordered_map<std::uint64_t, char32_t> compositions;
  std::vector<std::uint8_t> combining_class = std::vector<std::uint8_t>(0x110000);
  // Whether a character neither decomposes nor changes what is before it.
  std::vector<bool> is_inert = std::vector<bool>(0x110000, true);

  NormalizationTables() {
    for (std::size_t i = 0; i < kCompositionsSize; i += 3) {
      add(kCompositions + i);
      compositions[key(kCompositions[i + 1], kCompositions[i + 2])] = kCompositions[i];
      is_inert[kCompositions[i + 2]] = false;
    }
    for (std::size_t i = 0; i < kDecompositionsSize; i += 3) add(kDecompositions + i);
    for (std::size_t i = 0; i < kCombiningClassesSize; i += 3) {
      for (char32_t at = kCombiningClasses[i]; at <= kCombiningClasses[i + 1]; ++at) {
        combining_class[at] = static_cast<std::uint8_t>(kCombiningClasses[i + 2]);
        is_inert[at] = false;
      }
    }
    for (char32_t i = 0; i < kVowelCount; ++i) is_inert[kVowels + i] = false;
    for (char32_t i = 1; i < kTailCount; ++i) is_inert[kTails + i] = false;
  }

  static std::uint64_t key(char32_t first, char32_t second) {
    return std::uint64_t{first} << 32 | second;
  }

 private:
  void add(const std::uint32_t* entry) {
    decompositions[entry[0]] = {entry[1], entry[2]};
    is_inert[entry[0]] = false;
  }
};

const NormalizationTables& tables() {
  static const NormalizationTables all;
  return all;
}

// The composed character, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  const bool has_no_tail =
      first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0;
  if (has_no_tail && second > kTails && second < kTails + kTailCount)
    return first + second - kTails;
  const auto found = tables().compositions.find(NormalizationTables::key(first, second));
  return found == tables().compositions.end() ? 0 : found->second;
}

// Collects characters up to the next one that they cannot affect, and writes their normal form.
class Composer {
 public:
  explicit Composer(std::string& out) : out_(out) {}

  // Syllables need not be decomposed: a tail after one composes with it as it is.
  void add(char32_t character) {
    const auto found = tables().decompositions.find(character);
    if (found == tables().decompositions.end()) return pending_.push_back(character);
    add(found->second[0]);
    if (found->second[1] != 0) add(found->second[1]);
  }

  void flush() {
    sort_marks();
    std::size_t starter = kNone;
    std::size_t n_kept = 0;
    int last_class = -1;  // of the characters kept after the starter
    for (const char32_t character : pending_) {
      const int combining = class_of(character);
      if (starter != kNone && last_class < combining) {
        if (const char32_t composed = compose(pending_[starter], character)) {
          pending_[starter] = composed;
          continue;
        }
      }
      if (combining == 0) {
        starter = n_kept;
        last_class = -1;
      } else {
        last_class = combining;
      }
      pending_[n_kept++] = character;
    }
    for (std::size_t i = 0; i < n_kept; ++i) append_utf8(out_, pending_[i]);
    pending_.clear();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  static int class_of(char32_t character) { return tables().combining_class[character]; }

  // Runs of marks are ordered by class.
  void sort_marks() {
    for (auto at = pending_.begin(); at != pending_.end();) {
      const auto is_starter = [](char32_t character) { return class_of(character) == 0; };
      const auto first = std::find_if_not(at, pending_.end(), is_starter);
      at = std::find_if(first, pending_.end(), is_starter);
      std::stable_sort(first, at, [](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
    }
  }

  std::string& out_;
  std::u32string pending_;
};

}  // namespace

std::string to_nfc(std::string_view text) {
  // Texts without a character from U+0300 on are normal; their bytes are below 0xcc.
  const auto is_high = [](char byte) { return static_cast<unsigned char>(byte) >= 0xcc; };
  if (std::none_of(text.begin(), text.end(), is_high)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  Composer composer(out);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = code_point_at(text, at);
    if (tables().is_inert[character.value]) composer.flush();
    composer.add(character.value);
    at += character.n_bytes;
  }
  composer.flush();
  return out;
}

}  // namespace causeway::data
