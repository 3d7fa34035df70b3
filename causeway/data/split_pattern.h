// The regular expressions that cut text into words before byte-pair encoding, such as GPT-2's.
// Matching is that of Oniguruma: leftmost, the first alternative that matches, greedy, with
// backtracking. The subset: literals, classes [...], \p{..} of general categories, \s \S \d \D,
// groups (?:..) and
// (?i:..) that occur at most once, lookahead, ? * + {m,n} after a character or class.
#pragma once

#include "causeway/data/unicode.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace causeway::data {

// A set of characters.
class CharacterSet {
 public:
  void add(char32_t first, char32_t last);
  void add_categories(CategoryMask categories, bool negated);
  void add_spaces(bool negated);
  void negate() { negated_ = !negated_; }

  // Fills the table of ASCII characters; after the last change.
  void finish();
  bool contains(char32_t code_point) const {
    return code_point < 128 ? ascii_[code_point] : contains_slowly(code_point);
  }

 private:
  bool contains_slowly(char32_t code_point) const;

  struct Range {
    char32_t first, last;
  };
  std::bitset<128> ascii_;
  std::vector<Range> ranges_;
  CategoryMask categories_ = 0;
  bool spaces_ = false;      // contains white space
  bool non_spaces_ = false;  // contains everything else
  bool negated_ = false;
};

class SplitPattern {
 public:
  // Throws a format error that shows the pattern and the position of what is not supported.
  explicit SplitPattern(std::string_view regex);
  // Matches the text itself.
  static SplitPattern literal(std::string_view text);

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // The end of the match that starts at `begin` of a valid UTF-8 text; kNone if there is none.
  std::size_t match(std::string_view text, std::size_t begin) const { return run(text, 0, begin); }

 private:
  friend class SplitParser;
  enum class Op : std::uint8_t {
    set,        // [least, most] characters of sets_[set], as many as possible
    either,     // continue with the next instruction or, if that fails, at `target`
    jump,       // continue at `target`
    ahead,      // the next instructions up to `target` must match here; then continue there
    not_ahead,  // they must not
    end,        // of the pattern or of a lookahead
  };
  struct Instruction {
    Op op = Op::end;
    std::size_t target = 0;
    std::size_t set = 0;
    std::size_t least = 0;
    std::size_t most = 0;
  };

  SplitPattern() = default;
  std::size_t run(std::string_view text, std::size_t instruction, std::size_t at) const;
  std::size_t run_set(std::string_view text, std::size_t instruction, std::size_t at) const;

  std::vector<Instruction> program_;
  std::vector<CharacterSet> sets_;
};

}  // namespace causeway::data
