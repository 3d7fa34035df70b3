// Compiles the regular expression of a SplitPattern.
#include "causeway/core/error.h"
#include "causeway/core/shown.h"
#include "causeway/data/split_pattern.h"
#include "causeway/data/utf8.h"

#include <fmt/format.h>

#include <limits>

namespace causeway::data {

class SplitParser {
 public:
  SplitParser(SplitPattern& pattern, std::string_view regex) : pattern_(pattern), regex_(regex) {
    if (!is_utf8(regex)) refuse("invalid UTF-8");
    alternatives();
    if (at_ != regex_.size()) refuse("a parenthesis that was not opened");
    emit({});
  }

 private:
  using Op = SplitPattern::Op;
  using Instruction = SplitPattern::Instruction;
  static constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  static constexpr int kDepth = 16;
  static constexpr std::size_t kInstructions = 1000;

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorKind::format, "load_tokenizer",
         fmt::format("regular expression {}, position {}: {} is not supported", shown(regex_), at_,
                     what));
  }

  bool more() const { return at_ < regex_.size(); }
  bool take(std::string_view text) {
    if (!regex_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  std::size_t emit(Instruction instruction) {
    if (pattern_.program_.size() >= kInstructions) refuse("so long a pattern");
    pattern_.program_.push_back(instruction);
    return pattern_.program_.size() - 1;
  }
  std::size_t here() const { return pattern_.program_.size(); }
  Instruction& instruction(std::size_t index) { return pattern_.program_[index]; }

  // a|b|c: up to the end or a closing parenthesis.
  void alternatives() {
    std::vector<std::size_t> ends;
    while (true) {
      const std::size_t either = emit({.op = Op::either});
      sequence();
      if (!take("|")) {
        instruction(either) = {.op = Op::jump, .target = either + 1};  // the last one
        break;
      }
      ends.push_back(emit({.op = Op::jump}));
      instruction(either).target = here();
    }
    for (const std::size_t end : ends) instruction(end).target = here();
  }

  void sequence() {
    while (more() && regex_[at_] != '|' && regex_[at_] != ')') {
      if (take("(")) {
        group();
      } else {
        characters();
      }
    }
  }

  void group() {
    if (++depth_ > kDepth) refuse("so deep a nesting");
    const bool outer = ignore_case_;
    const bool is_not_ahead = take("?!");
    const bool is_ahead = !is_not_ahead && take("?=");
    if (!is_not_ahead && !is_ahead && take("?")) {
      if (take("i:")) {
        ignore_case_ = true;
      } else if (!take(":")) {
        refuse("this kind of group");
      }
    }
    const std::size_t start =
        emit({.op = is_not_ahead ? Op::not_ahead : (is_ahead ? Op::ahead : Op::jump),
              .target = here() + 1});
    alternatives();
    if (!take(")")) refuse("a parenthesis that is not closed");
    ignore_case_ = outer;
    --depth_;
    if (is_ahead || is_not_ahead) {
      emit({});
      instruction(start).target = here();
    } else if (take("?")) {
      instruction(start) = {.op = Op::either, .target = here()};
    }
    if (more() && std::string_view("?*+{").find(regex_[at_]) != std::string_view::npos)
      refuse("the repetition of a group");
  }

  void characters() {
    CharacterSet set;
    if (take("[")) {
      bracket(set);
    } else if (take("\\")) {
      escape(set);
    } else if (std::string_view("^$.?*+{").find(regex_[at_]) != std::string_view::npos) {
      refuse(fmt::format("\"{}\" here", regex_[at_]));
    } else {
      add_literal(set, character());
    }
    set.finish();
    Instruction instruction{.op = Op::set, .set = pattern_.sets_.size(), .least = 1, .most = 1};
    pattern_.sets_.push_back(set);
    quantifier(instruction);
    emit(instruction);
  }

  void quantifier(Instruction& instruction) {
    if (take("?")) {
      instruction.least = 0;
    } else if (take("*")) {
      instruction.least = 0, instruction.most = kMost;
    } else if (take("+")) {
      instruction.most = kMost;
    } else if (take("{")) {
      instruction.least = number();
      instruction.most = instruction.least;
      if (take(",")) instruction.most = more() && regex_[at_] == '}' ? kMost : number();
      if (!take("}") || instruction.most < instruction.least) refuse("this repetition");
    } else {
      return;
    }
    if (more() && std::string_view("?*+{").find(regex_[at_]) != std::string_view::npos)
      refuse("a lazy or possessive repetition");
  }

  std::size_t number() {
    std::size_t value = 0;
    const std::size_t start = at_;
    while (more() && regex_[at_] >= '0' && regex_[at_] <= '9' && value < 10'000)
      value = value * 10 + static_cast<std::size_t>(regex_[at_++] - '0');
    if (at_ == start) refuse("this repetition");
    return value;
  }

  char32_t character() {
    const CodePoint character = code_point_at(regex_, at_);
    at_ += character.n_bytes;
    return character.value;
  }

  void add_literal(CharacterSet& set, char32_t letter) {
    set.add(letter, letter);
    if (!ignore_case_) return;
    if (letter >= 0x80) refuse("a letter other than ASCII that ignores case");
    const char32_t lower = letter | 0x20;
    if (lower < 'a' || lower > 'z') return;
    set.add(lower, lower);
    set.add(lower - 0x20, lower - 0x20);
    if (lower == 's') set.add(0x17f, 0x17f);    // long s
    if (lower == 'k') set.add(0x212a, 0x212a);  // Kelvin sign
  }

  // After "[".
  void bracket(CharacterSet& set) {
    const bool negated = take("^");
    if (ignore_case_) refuse("a class that ignores case");
    if (more() && regex_[at_] == ']') refuse("an empty class");
    while (!take("]")) {
      if (!more()) refuse("a class that is not closed");
      if (regex_[at_] == '[' || regex_.substr(at_).starts_with("&&"))
        refuse("an operation on classes");
      if (take("\\")) {
        escape(set);
        continue;
      }
      const char32_t first = character();
      const std::string_view rest = regex_.substr(at_);
      if (rest.size() < 2 || rest[0] != '-' || rest[1] == ']') {
        set.add(first, first);
        continue;
      }
      ++at_;
      if (regex_[at_] == '\\' || regex_[at_] == '[') refuse("this range");
      const char32_t last = character();
      if (last < first) refuse("this range");
      set.add(first, last);
    }
    if (negated) set.negate();
  }

  // After a backslash.
  void escape(CharacterSet& set) {
    if (!more()) refuse("a backslash at the end");
    const char32_t letter = character();
    switch (letter) {
      case 's': return set.add_spaces(false);
      case 'S': return set.add_spaces(true);
      case 'd': return set.add_categories(mask_of(Category::Nd), false);
      case 'D': return set.add_categories(mask_of(Category::Nd), true);
      case 'r': return set.add('\r', '\r');
      case 'n': return set.add('\n', '\n');
      case 't': return set.add('\t', '\t');
      case 'p':
      case 'P': return property(set, letter == 'P');
      default: break;
    }
    const bool is_letter = (letter | 0x20) >= 'a' && (letter | 0x20) <= 'z';
    if (is_letter || letter >= 0x80 || (letter >= '0' && letter <= '9')) refuse("this escape");
    add_literal(set, letter);
  }

  void property(CharacterSet& set, bool negated) {
    const std::size_t close = regex_.find('}', at_);
    if (!take("{") || close == std::string_view::npos) refuse("this property");
    if (take("^")) negated = !negated;
    const auto categories = categories_named(regex_.substr(at_, close - at_));
    if (!categories) refuse("this property");
    set.add_categories(*categories, negated);
    at_ = close + 1;
  }

  SplitPattern& pattern_;
  std::string_view regex_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ignore_case_ = false;
};

SplitPattern::SplitPattern(std::string_view regex) { SplitParser(*this, regex); }

}  // namespace causeway::data
