#include "causeway/data/split_pattern.h"

#include "causeway/data/utf8.h"

#include <algorithm>

namespace causeway::data {

void CharacterSet::add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }

void CharacterSet::add_categories(CategoryMask categories, bool negated) {
  categories_ |= negated ? ~categories : categories;
}

void CharacterSet::add_spaces(bool negated) { (negated ? non_spaces_ : spaces_) = true; }

void CharacterSet::finish() {
  for (char32_t at = 0; at < 128; ++at) ascii_[at] = contains_slowly(at);
}

bool CharacterSet::contains_slowly(char32_t code_point) const {
  const auto found = [&] {
    if (categories_ != 0 && (categories_ & mask_of(category_of(code_point))) != 0) return true;
    if ((spaces_ || non_spaces_) && (is_space(code_point) ? spaces_ : non_spaces_)) return true;
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
      return code_point >= range.first && code_point <= range.last;
    });
  };
  return found() != negated_;
}

SplitPattern SplitPattern::literal(std::string_view text) {
  SplitPattern pattern;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint character = code_point_at(text, at);
    CharacterSet set;
    set.add(character.value, character.value);
    set.finish();
    pattern.program_.push_back({.op = Op::set, .set = pattern.sets_.size(), .least = 1, .most = 1});
    pattern.sets_.push_back(set);
    at += character.n_bytes;
  }
  pattern.program_.push_back({});
  return pattern;
}

// Instructions only lead forward, so the depth of the recursion is at most the program's length.
std::size_t SplitPattern::run(std::string_view text, std::size_t instruction,
                              std::size_t at) const {
  while (true) {
    const Instruction& now = program_[instruction];
    switch (now.op) {
      case Op::end: return at;
      case Op::jump: instruction = now.target; break;
      case Op::either: {
        const std::size_t end = run(text, instruction + 1, at);
        if (end != kNone) return end;
        instruction = now.target;
        break;
      }
      case Op::ahead:
      case Op::not_ahead: {
        const bool found = run(text, instruction + 1, at) != kNone;
        if (found != (now.op == Op::ahead)) return kNone;
        instruction = now.target;
        break;
      }
      case Op::set: {
        if (now.least != 1 || now.most != 1) return run_set(text, instruction, at);
        if (at == text.size()) return kNone;
        const CodePoint character = code_point_at(text, at);
        if (!sets_[now.set].contains(character.value)) return kNone;
        at += character.n_bytes;
        ++instruction;
        break;
      }
    }
  }
}

std::size_t SplitPattern::run_set(std::string_view text, std::size_t instruction,
                                  std::size_t at) const {
  const Instruction& now = program_[instruction];
  const CharacterSet& set = sets_[now.set];
  std::size_t count = 0;
  while (at < text.size() && count < now.most) {
    const CodePoint character = code_point_at(text, at);
    if (!set.contains(character.value)) break;
    at += character.n_bytes;
    ++count;
  }
  for (; count >= now.least; --count) {
    const std::size_t end = run(text, instruction + 1, at);
    if (end != kNone) return end;
    if (count == 0) break;
    at = previous_code_point(text, at);
  }
  return kNone;
}

}  // namespace causeway::data
