#include "causeway/pairs/structure.h"

#include "causeway/pairs/generate/dice.h"
#include "causeway/pairs/inputs.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace causeway::pairs {

namespace {

constexpr std::size_t kBand = kSignature / kBands;  // hashes of a band
constexpr double kSame = 0.9;
constexpr double kAcrossSplits = 0.75;

constexpr std::string_view kKeywords[] = {  // sorted
    "False", "True", "and",  "bool",  "break",  "class", "continue",
    "def",   "elif", "else", "float", "for",    "if",    "in",
    "int",   "not",  "or",   "range", "return", "while", "wp"};
static_assert(std::ranges::is_sorted(kKeywords));

// Tokens as hashes: what the text does is kept, names and numbers are abstracted.
struct Tokens {
  std::vector<std::uint64_t> exact;         // names numbered by first appearance
  std::vector<std::uint64_t> blurred;       // all names the same
  std::uint64_t outline = fnv(nullptr, 0);  // control flow, types and builtins only
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Skips the docstring, a comment or a string.
std::size_t skip_text(std::string_view text, std::size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  const bool triple = text.substr(at, 3) == "\"\"\"";
  const std::size_t end = text.find(triple ? "\"\"\"" : "\"", at + (triple ? 3 : 1));
  return end == std::string_view::npos ? text.size() : end + (triple ? 3 : 1);
}

Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  tokens.exact.reserve(text.size() / 3);
  tokens.blurred.reserve(text.size() / 3);
  std::vector<std::string_view> names;
  std::size_t at = text.find('@');  // what comes before are imports
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#' || c == '"') {
      at = skip_text(text, at);
      continue;
    }
    if (c == ' ' || c == '\n') {
      // The indentation of a line is structure.
      if (c == '\n') {
        const std::size_t next = text.find_first_not_of(" \n", at);
        const std::size_t start =
            next == std::string_view::npos ? text.size() : text.rfind('\n', next) + 1;
        const std::uint64_t indent =
            mix(0x1000 + (next == std::string_view::npos ? 0 : next - start));
        tokens.exact.push_back(indent);
        tokens.outline = fnv(&indent, sizeof indent, tokens.outline);
        at = next == std::string_view::npos ? text.size() : next;
      } else {
        ++at;
      }
      continue;
    }
    std::size_t end = at + 1;
    std::uint64_t exact = 0;
    std::uint64_t blurred = 0;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
      exact = blurred = mix(1);
    } else if (is_word(c)) {
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      const bool member =
          at >= 3 && text.substr(at - 3, 3) == "wp.";  // a field of a struct is a name
      if (member || std::ranges::binary_search(kKeywords, word)) {
        exact = blurred = fnv(word.data(), word.size());
        tokens.outline = fnv(word.data(), word.size(), tokens.outline);
      } else {
        const auto known = std::ranges::find(names, word);
        exact = mix(2 + static_cast<std::uint64_t>(known - names.begin()));
        if (known == names.end()) names.push_back(word);
        blurred = mix(2);
      }
    } else {
      exact = blurred = mix(0x100 + static_cast<unsigned char>(c));
    }
    tokens.exact.push_back(exact);
    tokens.blurred.push_back(blurred);
    at = end;
  }
  return tokens;
}

// Multiply-shift hash functions, one for each place of a signature.
constexpr std::array<std::uint64_t, kSignature> random_words(std::uint64_t stream,
                                                             std::uint64_t bits) {
  std::array<std::uint64_t, kSignature> words{};
  for (std::uint64_t k = 0; k < kSignature; ++k) words[k] = mix(stream + k) | bits;
  return words;
}
constexpr auto kFactors = random_words(0, 1);
constexpr auto kOffsets = random_words(1000, 0);

std::uint64_t hash_of(const std::vector<std::uint64_t>& words) {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = mix(hash + word);
  return hash;
}

constexpr std::size_t kGram = 4;
// 4-grams that are hashed together: one alone would wait for each multiplication.
constexpr std::size_t kLanes = 4;
using Grams = std::array<const std::uint64_t*, kLanes>;

// The FNV-1a hashes of the 4-grams.
std::array<std::uint64_t, kLanes> hash_grams(const Grams& grams) {
  std::array<std::uint64_t, kLanes> hashes;
  hashes.fill(fnv(nullptr, 0));
  for (std::size_t i = 0; i < kGram; ++i) {
    for (int shift = 0; shift < 64; shift += 8) {
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        hashes[lane] = (hashes[lane] ^ (grams[lane][i] >> shift & 0xff)) * 0x100000001b3ULL;
    }
  }
  return hashes;
}

void take_least(const Grams& grams, std::array<std::uint32_t, kSignature>& least) {
  const std::array<std::uint64_t, kLanes> words = hash_grams(grams);
  for (std::size_t k = 0; k < kSignature; ++k) {
    std::uint32_t found = least[k];
    for (const std::uint64_t word : words)
      found = std::min(found, static_cast<std::uint32_t>((word * kFactors[k] + kOffsets[k]) >> 32));
    least[k] = found;
  }
}

// The least hash of all 4-grams, for each hash function. Most 4-grams occur several times: those
// found again by a small table are not hashed again.
std::array<std::uint32_t, kSignature> signature_of(const std::vector<std::uint64_t>& words) {
  std::array<std::uint32_t, kSignature> least;
  least.fill(UINT32_MAX);
  std::array<std::uint32_t, 256> seen{};  // one past the place of a 4-gram
  Grams grams{};
  std::size_t n_grams = 0;
  for (std::size_t i = 0; i + kGram <= words.size(); ++i) {
    const std::uint64_t* gram = &words[i];
    const std::uint64_t mixed = gram[0] + 3 * gram[1] + 5 * gram[2] + 7 * gram[3];
    std::uint32_t& place = seen[mixed >> 56];
    if (place > 0 && std::equal(gram, gram + kGram, &words[place - 1])) continue;
    place = static_cast<std::uint32_t>(i + 1);
    grams[n_grams++ % kLanes] = gram;
    if (n_grams % kLanes == 0) take_least(grams, least);
  }
  if (n_grams == 0) return least;
  // The last ones, and others again, which changes nothing.
  for (std::size_t i = n_grams; i < kLanes; ++i) grams[i] = grams[0];
  take_least(grams, least);
  return least;
}

// A hash of each band, in which similar structures agree.
std::array<std::uint64_t, kBands> bands_of(const std::array<std::uint32_t, kSignature>& signature) {
  std::array<std::uint64_t, kBands> bands{};
  for (std::size_t i = 0; i < kSignature; ++i) {
    std::uint64_t& band = bands[i / kBand];
    band = mix(band + i + (std::uint64_t{signature[i]} << 16));
  }
  return bands;
}

}  // namespace

std::string_view name_of(Split split) {
  constexpr std::string_view kNames[] = {"train", "validation", "test"};
  return kNames[static_cast<int>(split)];
}

Split Structure::split() const {
  const std::uint64_t place = mix(cluster) % 100;
  return place < 90 ? Split::train : place < 95 ? Split::validation : Split::test;
}

Structure structure_of(std::string_view python, const lang::Module& module,
                       const lang::Function& kernel) {
  Structure structure;
  structure.key = lang::structural_hash(module, kernel);
  const Tokens tokens = tokens_of(python);
  structure.text = hash_of(tokens.exact);
  structure.cluster = tokens.outline;
  structure.signature = signature_of(tokens.blurred);
  structure.bands = bands_of(structure.signature);
  return structure;
}

double similarity(const Structure& a, const Structure& b) {
  int same = 0;
  for (std::size_t k = 0; k < kSignature; ++k) same += a.signature[k] == b.signature[k] ? 1 : 0;
  return static_cast<double>(same) / kSignature;
}

std::size_t PlaceTable::slot(std::uint64_t hash) const {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].place != kAbsent && slots_[at].hash != hash)
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

void PlaceTable::set(std::uint64_t hash, std::uint32_t place) {
  if (2 * used_ >= slots_.size()) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    for (const Slot& each : old) {
      if (each.place != kAbsent) slots_[slot(each.hash)] = each;
    }
  }
  Slot& found = slots_[slot(hash)];
  if (found.place == kAbsent) ++used_;
  found = {hash, place};
}

Rejection StructureIndex::add(const Structure& structure) {
  if (excluded_.contains(structure.key)) return Rejection::excluded;
  // Both kinds of keys share one set: they are hashes of different things.
  const std::uint64_t text = mix(structure.text);
  if (keys_.contains(structure.key) || keys_.contains(text)) return Rejection::duplicate;
  for (const std::uint64_t band : structure.bands) {
    const std::uint32_t found = bands_.find(band);
    if (found == PlaceTable::kAbsent) continue;
    const Entry& other = structures_[found];
    int same = 0;
    for (std::size_t k = 0; k < kSignature; ++k)
      same += structure.signature[k] == other.signature[k] ? 1 : 0;
    const double alike = static_cast<double>(same) / kSignature;
    if (alike >= (other.split == structure.split() ? kSame : kAcrossSplits))
      return Rejection::similar;
  }
  keys_.insert(structure.key);
  keys_.insert(text);
  for (const std::uint64_t band : structure.bands)
    bands_.set(band, static_cast<std::uint32_t>(structures_.size()));
  structures_.push_back({structure.signature, structure.split()});
  return Rejection::none;
}

}  // namespace causeway::pairs
